/** Messages between members of a cluster, as plain values, since they are serialised. Source: cluster.md. */
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

/** A session of the answering member: Unix seconds of its latest heartbeat, 0: none yet. */
export interface SessionHeartbeat {
  readonly session: SessionId;
  readonly heartbeatAt: number;
}

/** A device's sessions at one member; null: no session there. */
export interface DeviceHeartbeats {
  readonly sleep: SessionHeartbeat | null;
  readonly signal: SessionHeartbeat | null;
}

/** `asleep`: its module is connected; `online`: its controller is connected; `offline`: neither is. */
export const listedStates = ['online', 'asleep', 'offline', 'never'] as const;
export type ListedState = (typeof listedStates)[number];

/** A search over all devices, as in `GET /v1/device/list`. */
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

/** Questions between members and their answers, by kind. */
interface PeerExchanges {
  /** A device's sessions at this member, in the order of the question: at most `batchDevicesMax`. */
  readonly heartbeats: Exchange<
    'heartbeats',
    { readonly deviceIds: readonly DeviceId[] },
    readonly DeviceHeartbeats[]
  >;
  /** A whole wakeup, sent to the member with the device's first sleep slot; includes the slots that the asker has just read. */
  readonly wake: Exchange<
    'wake',
    { readonly request: WakeupRequest; readonly slots: DeviceSlots },
    Result<WakeupReceipt, Refusal<WakeupCode>> & RepeatMark
  >;
  /** Only the 8 bytes, on one session. `absent`: the session is gone; `unwakeable`: its module does not support this packet. */
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
  /** Sent to the member that has the device's calls, like the next two. */
  readonly 'issue-call': Exchange<
    'issue-call',
    { readonly order: SignedCallOrder },
    Result<IssuedCall, Refusal<CallCredentialsCode>>
  >;
  /** Ends a call on behalf of a backend. 40414: the member does not have the session or the room. */
  readonly 'end-call': Exchange<
    'end-call',
    { readonly order: CallEndOrder },
    Result<CallEnd, Refusal<CallEndCode>>
  >;
  /** A rejection by the device's controller. `stray`: the device has no such call that it may reject. */
  readonly 'reject-call': Exchange<
    'reject-call',
    { readonly deviceId: DeviceId; readonly rejection: CallRejection },
    'taken' | 'stray'
  >;
  /** The media listener of a call, for a leg that connected to the asker. Null: the call is not here. */
  readonly 'find-call': Exchange<
    'find-call',
    { readonly sessionId: SessionId },
    { readonly appId: ApplicationId; readonly mediaUrl: string } | null
  >;
  /** True: the device had a session here. */
  readonly disconnect: Exchange<'disconnect', { readonly deviceId: DeviceId }, boolean>;
  /** This member's wakeups with a request id; `deviceId` null: of any device. */
  readonly wakeups: Exchange<
    'wakeups',
    { readonly requestId: RequestId; readonly deviceId: DeviceId | null },
    WakeupsKnown
  >;
  /** The first matching devices in the given state here, up to one more than the limit. */
  readonly 'held-devices': Exchange<'held-devices', { readonly sought: SoughtDevices }, readonly DeviceId[]>;
}

export type PeerKind = keyof PeerExchanges;
export type PeerQuestion<Kind extends PeerKind = PeerKind> = {
  [One in Kind]: PeerExchanges[One]['question'];
}[Kind];
export type PeerAnswer<Kind extends PeerKind = PeerKind> = PeerExchanges[Kind]['answer'];
export type PeerAnswers = { readonly [Kind in PeerKind]: PeerAnswer<Kind> };

interface IssuedCall {
  readonly peerId: string;
  /** A secret. */
  readonly token: string;
  readonly mediaUrl: string | null;
  readonly note?: string | undefined;
}

/** Data by which another member answers a repeat of a wakeup. */
export interface AcceptedWakeup extends SignedRequest {
  readonly receipt: WakeupReceipt;
  readonly wakeup: RepeatableWakeup;
}

/** Messages without an answer, by kind. */
interface PeerNotices {
  /** A later login has taken the slot of this session, which is to be closed as replaced. */
  readonly superseded: {
    readonly connection: ConnectionKind;
    readonly deviceId: DeviceId;
    readonly session: SessionId;
  };
  /** To all members: each answers a repeat of one of these wakeups alike. */
  readonly 'wakeups-accepted': { readonly wakeups: readonly AcceptedWakeup[] };
  /** To all members: each answers a repeat of this message alike. */
  readonly 'message-answered': SignedRequest & { readonly answer: PeerAnswer<'message'> };
  /** To all members that may issue the device's next call: a repeat issues no second call. */
  readonly 'call-issued': SignedRequest & IssuedCall & { readonly sessionId: SessionId };
  /** To all members: each answers a repeat alike, with 40414 if there was no call. */
  readonly 'call-end-answered': SignedRequest & { readonly end: CallEnd | null };
  /** A controller's report of its wake cause, for the member that watches the wakeup. */
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
 * Reasons for a missing answer. `nobody`: no member has the subject; `unsent`: the question was not sent in time, and not
 * received; `unanswered`: it may have been received, and may yet be carried out.
 */
export type PeerFailure = 'nobody' | 'unsent' | 'unanswered';
