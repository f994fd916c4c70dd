/** Several nodes that form one server. Source: cluster.md. */
import type { LiveCallState } from './call.ts';
import type { ConnectionTimes } from './connectivity.ts';
import type { DeviceId, EventId, SessionId } from './ids.ts';
import { leaseRenewMs } from './limits.ts';

/** One run of one node; a restarted node is another member. Form: `<node>@<incarnation>`. */
export type MemberId = string & { readonly brand: 'MemberId' };

export const connectionKinds = ['sleep', 'signal'] as const;
export type ConnectionKind = (typeof connectionKinds)[number];

/** Names one session of a device. */
export interface SessionName {
  readonly connection: ConnectionKind;
  readonly deviceId: DeviceId;
  readonly session: SessionId;
}

export interface SessionSlot {
  readonly member: MemberId;
  /** The node's name in events: a device has one sleep session per node. */
  readonly node: string;
  readonly session: SessionId;
  readonly epoch: number;
  /** Wall milliseconds: of two claims of one slot the later login wins. */
  readonly loginAtMs: number;
  /** The session was claimed again; its former member may have died before it published this event. */
  readonly recovered?: MarkedEvent | undefined;
}

/** An event attached to a change of a row. Any member publishes it if it finds it unpublished; its id prevents duplicates. */
export interface MarkedEvent {
  readonly id: EventId;
  readonly atMs: number;
}

/** The end of a lost member's slot; the member that ended it may have died before it published the event. */
export interface FailedOverSlot extends MarkedEvent {
  readonly slot: SessionSlot;
}

/**
 * The shared row of one connection of one device. Signal has at most one slot; sleep has one per node, at most `sleepSlotsMax`.
 * Times are the latest over all slots.
 */
export interface SharedConnection extends ConnectionTimes {
  /** Epoch of the newest slot so far; 0: no login yet. */
  readonly epoch: number;
  /** Oldest epoch first. */
  readonly slots: readonly SessionSlot[];
  /** The latest ones, at most `failedOverSlotsMax`, oldest first. */
  readonly failedOver?: readonly FailedOverSlot[] | undefined;
}

export interface DeviceSlots {
  readonly sleep: readonly SessionSlot[];
  readonly signal: readonly SessionSlot[];
}

export interface DeviceRow {
  readonly sleep: SharedConnection;
  readonly signal: SharedConnection;
}

/** `lost`: its lease has expired, and its sessions are being closed. */
export type MemberState = 'up' | 'draining' | 'lost';

/** Knowledge about other members older than this is stale: two renewals are missing, plus half an interval for delays. */
export const memberKnowledgeMsMax = 2.5 * leaseRenewMs;

/** A member's state for operators. `silent`: it should be up, but its lease has not been renewed in time. */
export type ShownMemberState = MemberState | 'silent';

/** A member's own report, with the judgement of the others. */
export interface MemberStatus {
  readonly member: MemberId;
  readonly node: string;
  readonly state: MemberState;
  readonly version: string;
  readonly startedAtMs: number;
  readonly sleepSessions: number;
  readonly signalSessions: number;
  /** Local changes not yet written to the shared store. */
  readonly outboxLength: number;
  readonly eventLag: number;
  /** Milliseconds since its last known lease renewal; 0: the reporting member itself. */
  readonly leaseAgeMs: number;
}

export function shownState({ state, leaseAgeMs }: MemberStatus): ShownMemberState {
  return state !== 'lost' && leaseAgeMs > memberKnowledgeMsMax ? 'silent' : state;
}

export function countStates(members: readonly MemberStatus[]): Readonly<Record<ShownMemberState, number>> {
  const counts = { up: 0, draining: 0, silent: 0, lost: 0 };
  for (const member of members) counts[shownState(member)] += 1;
  return counts;
}

/** `node`: any characters; incarnation: letters, digits and dashes. */
const memberIdForm = /^.{1,255}@[\w-]{1,64}$/su;

/** The node of a member, the same over all its runs. */
export function nodeOf(member: MemberId): string {
  return member.slice(0, member.lastIndexOf('@'));
}

export function parseMemberId(text: string): MemberId | null {
  return memberIdForm.test(text) ? (text as MemberId) : null;
}

export interface SharedCall {
  readonly sessionId: SessionId;
  readonly state: LiveCallState;
}

export interface LostCall extends MarkedEvent {
  readonly sessionId: SessionId;
}

/** The node that issues a device's calls while it lives, and the calls. */
export interface DeviceCalls {
  readonly node: MemberId;
  readonly calls: readonly SharedCall[];
  /** Calls of former nodes: the latest `lostCallsMax`. */
  readonly lost: readonly LostCall[];
}
