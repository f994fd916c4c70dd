/** Messages between members of a cluster, as plain values, since they cross as bytes. Source: cluster.md. */
import type { Result } from '../lib/result.ts';
import type { CallSession, SignedCallOrder } from './call.ts';
import type { ConnectionKind, DeviceSlots, MemberStatus } from './cluster.ts';
import type { CallCredentialsCode, MessageCode, Refusal, WakeupCode } from './codes.ts';
import type { ApplicationId, DeviceId, RequestId, SessionId } from './ids.ts';
import type { MessageReceipt, MessageRequest } from './message.ts';
import type { WakeReport } from './signal.ts';
import type { CustomData, WakeWriteResult } from './sleep.ts';
import type { WakeupReceipt, WakeupRequest } from './wakeup.ts';

/** What a member knows of a session of its own: Unix seconds of its latest heartbeat, 0: none yet. */
export interface SessionHeartbeat {
  readonly session: SessionId;
  readonly heartbeatAt: number;
}

/** What one member asks another, by kind: the question, and its answer. */
export interface PeerExchanges {
  /** The device's sessions at this member. */
  readonly heartbeats: {
    readonly question: { readonly kind: 'heartbeats'; readonly deviceId: DeviceId };
    readonly answer: { readonly sleep: SessionHeartbeat | null; readonly signal: SessionHeartbeat | null };
  };
  /** A whole wakeup, of the member that has the device's first sleep slot; with where who asks has just found it. */
  readonly wake: {
    readonly question: {
      readonly kind: 'wake';
      readonly request: WakeupRequest;
      readonly slots: DeviceSlots;
    };
    readonly answer: Result<WakeupReceipt, Refusal<WakeupCode>>;
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
    readonly answer: Result<MessageReceipt, Refusal<MessageCode>>;
  };
  /** Of the member that keeps the device's calls. */
  readonly 'issue-call': {
    readonly question: { readonly kind: 'issue-call'; readonly order: SignedCallOrder };
    readonly answer: Result<
      { readonly peerId: string; readonly token: string },
      Refusal<CallCredentialsCode>
    >;
  };
  /** The calls of the device that this session is of, so that the asker keeps them. `in-use`: one of them has a leg here. */
  readonly 'take-calls': {
    readonly question: { readonly kind: 'take-calls'; readonly sessionId: SessionId };
    readonly answer:
      | { readonly kind: 'given'; readonly deviceId: DeviceId; readonly sessions: readonly CallSession[] }
      | { readonly kind: 'in-use' | 'absent' };
  };
  /** True: the device had a session here. */
  readonly disconnect: {
    readonly question: { readonly kind: 'disconnect'; readonly deviceId: DeviceId };
    readonly answer: boolean;
  };
  /** In Prometheus' text format. */
  readonly metrics: { readonly question: { readonly kind: 'metrics' }; readonly answer: string };
  readonly status: { readonly question: { readonly kind: 'status' }; readonly answer: MemberStatus };
}

export type PeerKind = keyof PeerExchanges;
export type PeerQuestion<Kind extends PeerKind = PeerKind> = {
  [One in Kind]: PeerExchanges[One]['question'];
}[Kind];
export type PeerAnswer<Kind extends PeerKind = PeerKind> = PeerExchanges[Kind]['answer'];
export type PeerAnswers = { readonly [Kind in PeerKind]: PeerAnswer<Kind> };

/** What is told, and not answered. */
export type PeerNotice =
  /** A later login has taken the slot of this session: it is to be closed as replaced. */
  | {
      readonly kind: 'superseded';
      readonly connection: ConnectionKind;
      readonly deviceId: DeviceId;
      readonly session: SessionId;
    }
  /** To everybody: a repeat of it, wherever it comes, is answered like it. `signature` as in WakeupRequest. */
  | {
      readonly kind: 'wakeup-accepted';
      readonly appId: ApplicationId;
      readonly requestId: RequestId;
      /** As in WakeupRequest: an id that the server made is not the caller's to repeat. */
      readonly isCallersId: boolean;
      readonly signature: string;
      readonly signatureExpiresMs: number;
      readonly bodySha256: string;
      readonly receipt: WakeupReceipt;
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
  /** There is more in the shared log. */
  | { readonly kind: 'log-grew' }
  /** Keys that sign the tokens of calls were changed. */
  | { readonly kind: 'token-keys-changed' };

/**
 * Why there is no answer. `nobody`: certainly nobody has it; `unsent`: it could not be sent in time, and nobody has it;
 * `unanswered`: somebody may have it, and may yet do it.
 */
export type PeerFailure = 'nobody' | 'unsent' | 'unanswered';
