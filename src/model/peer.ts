/** Messages between members of a cluster, as plain values, since they cross as bytes. Source: cluster.md. */
import type { Result } from '../lib/result.ts';
import type { CallEnd, CallEndOrder, CallRejection, SignedCallOrder } from './call.ts';
import type { ConnectionKind, DeviceSlots } from './cluster.ts';
import type { CallCredentialsCode, CallEndCode, Refusal, WakeupCode } from './codes.ts';
import type { ApplicationId, DeviceId, RequestId, SessionId } from './ids.ts';
import type { MessageReceipt, MessageRefusal, MessageRequest } from './message.ts';
import type { WakeReport } from './signal.ts';
import type { SignedRequest } from './signed-request.ts';
import type { CustomData, WakeWriteResult } from './sleep.ts';
import type { RepeatableWakeup, RepeatMark, WakeupReceipt, WakeupRequest, WakeupsKnown } from './wakeup.ts';

/** What a member knows of a session of its own: Unix seconds of its latest heartbeat, 0: none yet. */
export interface SessionHeartbeat {
  readonly session: SessionId;
  readonly heartbeatAt: number;
}

/** A device's sessions at one member; null: it has none there. */
export interface DeviceHeartbeats {
  readonly sleep: SessionHeartbeat | null;
  readonly signal: SessionHeartbeat | null;
}

/** What one member asks another, by kind: the question, and its answer. */
export interface PeerExchanges {
  /** The sessions of devices at this member, in the order of the question: `batchDevicesMax` at most. */
  readonly heartbeats: {
    readonly question: { readonly kind: 'heartbeats'; readonly deviceIds: readonly DeviceId[] };
    readonly answer: readonly DeviceHeartbeats[];
  };
  /** A whole wakeup, of the member that has the device's first sleep slot; with where who asks has just found it. */
  readonly wake: {
    readonly question: {
      readonly kind: 'wake';
      readonly request: WakeupRequest;
      readonly slots: DeviceSlots;
    };
    readonly answer: Result<WakeupReceipt, Refusal<WakeupCode>> & RepeatMark;
  };
  /** The 8 bytes only, on one session. `absent`: it is not here any more; `unwakeable`: its module cannot be woken with this. */
  readonly write: {
    readonly question: {
      readonly kind: 'write';
      readonly deviceId: DeviceId;
      readonly session: SessionId;
      readonly customData: CustomData;
    };
    readonly answer: WakeWriteResult | 'absent' | 'unwakeable';
  };
  readonly message: {
    readonly question: { readonly kind: 'message'; readonly request: MessageRequest };
    readonly answer: Result<MessageReceipt, MessageRefusal>;
  };
  /** Asked of the member that has the device's calls. */
  readonly 'issue-call': {
    readonly question: { readonly kind: 'issue-call'; readonly order: SignedCallOrder };
    readonly answer: Result<
      {
        readonly peerId: string;
        readonly token: string;
        readonly mediaUrl: string | null;
        readonly note?: string | undefined;
      },
      Refusal<CallCredentialsCode>
    >;
  };
  /** Of the same: ends a call for a backend. A session or a room that it does not know is 40414. */
  readonly 'end-call': {
    readonly question: { readonly kind: 'end-call'; readonly order: CallEndOrder };
    readonly answer: Result<CallEnd, Refusal<CallEndCode>>;
  };
  /** Of the same: what the device's controller says. `stray`: of no call of the device that it may reject. */
  readonly 'reject-call': {
    readonly question: {
      readonly kind: 'reject-call';
      readonly deviceId: DeviceId;
      readonly rejection: CallRejection;
    };
    readonly answer: 'taken' | 'stray';
  };
  /** The media listener of a call that a leg has sought at the asker. Null: the call is not here. */
  readonly 'find-call': {
    readonly question: { readonly kind: 'find-call'; readonly sessionId: SessionId };
    readonly answer: { readonly appId: ApplicationId; readonly mediaUrl: string } | null;
  };
  /** True: the device had a session here. */
  readonly disconnect: {
    readonly question: { readonly kind: 'disconnect'; readonly deviceId: DeviceId };
    readonly answer: boolean;
  };
  /** What this member knows of the wakeups that bear a request id; `deviceId` null: whatever their device. */
  readonly wakeups: {
    readonly question: {
      readonly kind: 'wakeups';
      readonly requestId: RequestId;
      readonly deviceId: DeviceId | null;
    };
    readonly answer: WakeupsKnown;
  };
}

export type PeerKind = keyof PeerExchanges;
export type PeerQuestion<Kind extends PeerKind = PeerKind> = {
  [One in Kind]: PeerExchanges[One]['question'];
}[Kind];
export type PeerAnswer<Kind extends PeerKind = PeerKind> = PeerExchanges[Kind]['answer'];
export type PeerAnswers = { readonly [Kind in PeerKind]: PeerAnswer<Kind> };

/** What others need to know of a wakeup to answer a repeat of it. */
export interface AcceptedWakeup extends SignedRequest {
  readonly receipt: WakeupReceipt;
  readonly wakeup: RepeatableWakeup;
}

/** What is told, and not answered. */
export type PeerNotice =
  /** A later login has taken the slot of this session: it is to be closed as replaced. */
  | {
      readonly kind: 'superseded';
      readonly connection: ConnectionKind;
      readonly deviceId: DeviceId;
      readonly session: SessionId;
    }
  /** To everybody: a repeat of one of them, wherever it comes, is answered like it. */
  | { readonly kind: 'wakeups-accepted'; readonly wakeups: readonly AcceptedWakeup[] }
  /** To everybody: a repeat of this message, wherever it comes, is answered like it. `signature` as in SignedRequest. */
  | {
      readonly kind: 'message-answered';
      readonly signature: string;
      readonly signatureExpiresMs: number;
      readonly answer: Result<MessageReceipt, MessageRefusal>;
    }
  /** To everybody who may keep the device's next call: a repeat of it opens none. `signature` as in SignedRequest. */
  | {
      readonly kind: 'call-issued';
      readonly signature: string;
      readonly signatureExpiresMs: number;
      readonly sessionId: SessionId;
      readonly peerId: string;
      /** A secret. */
      readonly token: string;
      readonly mediaUrl: string | null;
      readonly note?: string | undefined;
    }
  /** To everybody: a repeat of it, wherever it comes, is answered like it, 40414 where there was no call. */
  | {
      readonly kind: 'call-end-answered';
      readonly signature: string;
      readonly signatureExpiresMs: number;
      readonly end: CallEnd | null;
    }
  /** What a controller says woke it, for whoever watches that wakeup. */
  | {
      readonly kind: 'wake-reported';
      readonly deviceId: DeviceId;
      readonly session: SessionId;
      readonly report: WakeReport;
    }
  /** What is kept of the registry in memory is old. */
  | { readonly kind: 'registry-changed' }
  /** Keys that sign the tokens of calls were changed. */
  | { readonly kind: 'token-keys-changed' };

/**
 * Why there is no answer. `nobody`: certainly nobody has it; `unsent`: it could not be sent in time, and nobody has it;
 * `unanswered`: somebody may have it, and may yet do it.
 */
export type PeerFailure = 'nobody' | 'unsent' | 'unanswered';
