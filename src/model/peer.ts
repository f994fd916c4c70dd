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

/** `asleep`: its module is connected; `online`: its controller is, whatever the module; `offline`: neither is. */
export const listedStates = ['online', 'asleep', 'offline', 'never'] as const;
export type ListedState = (typeof listedStates)[number];

/** A search among all devices, as `GET /v1/device/list` takes it. */
export interface SoughtDevices {
  readonly prefix: string;
  readonly contains: string;
  readonly label?: string | undefined;
  readonly product_id?: string | undefined;
  readonly state?: ListedState | undefined;
  readonly after?: string | undefined;
  readonly limit: number;
}

interface Exchange<Kind extends string, Fields, Answer> {
  readonly question: { readonly kind: Kind } & Fields;
  readonly answer: Answer;
}

/** What one member asks another, by kind: the question, and its answer. */
interface PeerExchanges {
  /** The sessions of devices at this member, in the order of the question: `batchDevicesMax` at most. */
  readonly heartbeats: Exchange<
    'heartbeats',
    { readonly deviceIds: readonly DeviceId[] },
    readonly DeviceHeartbeats[]
  >;
  /** A whole wakeup, of the member that has the device's first sleep slot; with the slots that the asker has just found. */
  readonly wake: Exchange<
    'wake',
    { readonly request: WakeupRequest; readonly slots: DeviceSlots },
    Result<WakeupReceipt, Refusal<WakeupCode>> & RepeatMark
  >;
  /** The 8 bytes only, on one session. `absent`: it is gone; `unwakeable`: its module cannot be woken with this. */
  readonly write: Exchange<
    'write',
    { readonly deviceId: DeviceId; readonly session: SessionId; readonly customData: CustomData },
    WakeWriteResult | 'absent' | 'unwakeable'
  >;
  readonly message: Exchange<
    'message',
    { readonly request: MessageRequest },
    Result<MessageReceipt, MessageRefusal>
  >;
  /** Asked of the member that has the device's calls; so are the next two. */
  readonly 'issue-call': Exchange<
    'issue-call',
    { readonly order: SignedCallOrder },
    Result<IssuedCall, Refusal<CallCredentialsCode>>
  >;
  /** Ends a call on behalf of a backend. A session or a room that the member does not know is 40414. */
  readonly 'end-call': Exchange<
    'end-call',
    { readonly order: CallEndOrder },
    Result<CallEnd, Refusal<CallEndCode>>
  >;
  /** A rejection by the device's controller. `stray`: of no call of the device that it may reject. */
  readonly 'reject-call': Exchange<
    'reject-call',
    { readonly deviceId: DeviceId; readonly rejection: CallRejection },
    'taken' | 'stray'
  >;
  /** The media listener of a call that a leg has sought at the asker. Null: the call is not here. */
  readonly 'find-call': Exchange<
    'find-call',
    { readonly sessionId: SessionId },
    { readonly appId: ApplicationId; readonly mediaUrl: string } | null
  >;
  /** True: the device had a session here. */
  readonly disconnect: Exchange<'disconnect', { readonly deviceId: DeviceId }, boolean>;
  /** What this member knows of the wakeups that bear a request id; `deviceId` null: whatever their device. */
  readonly wakeups: Exchange<
    'wakeups',
    { readonly requestId: RequestId; readonly deviceId: DeviceId | null },
    WakeupsKnown
  >;
  /** The first devices that match and are in this state here: one more than the limit, where there are so many. */
  readonly 'held-devices': Exchange<'held-devices', { readonly sought: SoughtDevices }, readonly DeviceId[]>;
}

export type PeerKind = keyof PeerExchanges;
export type PeerQuestion<Kind extends PeerKind = PeerKind> = {
  [One in Kind]: PeerExchanges[One]['question'];
}[Kind];
export type PeerAnswer<Kind extends PeerKind = PeerKind> = PeerExchanges[Kind]['answer'];
export type PeerAnswers = { readonly [Kind in PeerKind]: PeerAnswer<Kind> };

/** The answer to a backend that was issued a call. */
interface IssuedCall {
  readonly peerId: string;
  /** A secret. */
  readonly token: string;
  readonly mediaUrl: string | null;
  readonly note?: string | undefined;
}

/** What others need to know of a wakeup to answer a repeat of it. */
export interface AcceptedWakeup extends SignedRequest {
  readonly receipt: WakeupReceipt;
  readonly wakeup: RepeatableWakeup;
}

/** Sent without an answer, by kind. */
interface PeerNotices {
  /** A later login has taken the slot of this session: it is to be closed as replaced. */
  readonly superseded: {
    readonly connection: ConnectionKind;
    readonly deviceId: DeviceId;
    readonly session: SessionId;
  };
  /** To everybody: a repeat of one of them, wherever it comes, is answered like it. */
  readonly 'wakeups-accepted': { readonly wakeups: readonly AcceptedWakeup[] };
  /** To everybody: a repeat of this message, wherever it comes, is answered like it. */
  readonly 'message-answered': SignedRequest & { readonly answer: PeerAnswer<'message'> };
  /** To everybody who may keep the device's next call: a repeat of it opens none. */
  readonly 'call-issued': SignedRequest & IssuedCall & { readonly sessionId: SessionId };
  /** To everybody: a repeat of it, wherever it comes, is answered like it, 40414 where there was no call. */
  readonly 'call-end-answered': SignedRequest & { readonly end: CallEnd | null };
  /** What a controller says woke it, for whoever watches that wakeup. */
  readonly 'wake-reported': {
    readonly deviceId: DeviceId;
    readonly session: SessionId;
    readonly report: WakeReport;
  };
}

export type PeerNotice = {
  [Kind in keyof PeerNotices]: { readonly kind: Kind } & PeerNotices[Kind];
}[keyof PeerNotices];

/**
 * Why there is no answer. `nobody`: certainly nobody has it; `unsent`: it could not be sent in time, and nobody has it;
 * `unanswered`: somebody may have it, and may yet do it.
 */
export type PeerFailure = 'nobody' | 'unsent' | 'unanswered';
