/** Several nodes that are one server. Source: cluster.md. */
import type { LiveCallState } from './call.ts';
import type { ConnectionTimes } from './connectivity.ts';
import type { EventId, SessionId } from './ids.ts';
import { leaseRenewMs } from './limits.ts';

/** One life of one node: a node that starts again is another member. `<node>@<incarnation>`. */
export type MemberId = string & { readonly brand: 'MemberId' };

export const connectionKinds = ['sleep', 'signal'] as const;
export type ConnectionKind = (typeof connectionKinds)[number];

/** Where a device's open session is. */
export interface SessionSlot {
  readonly member: MemberId;
  /** The name that events tell: a device has one sleep session a node. */
  readonly node: string;
  readonly session: SessionId;
  readonly epoch: number;
  /** Wall milliseconds: of two claims of one slot the later login wins. */
  readonly loginAtMs: number;
  /** It was claimed again, and its member may have died before it told so. */
  readonly recovered?: MarkedEvent | undefined;
}

/** An event that goes with a change of a row: whoever finds it untold tells it, and by its id it is told once. */
export interface MarkedEvent {
  readonly id: EventId;
  /** Wall milliseconds. */
  readonly atMs: number;
}

/** The end of a lost member's slot, which the member that ended it may not have told. */
export interface FailedOverSlot extends MarkedEvent {
  readonly slot: SessionSlot;
}

/**
 * What all members know of one connection of one device. Signal has one slot at most; sleep one a node, and
 * `sleepSlotsMax` in all. Times are the latest over all slots.
 */
export interface SharedConnection extends ConnectionTimes {
  /** Of the newest slot there ever was; 0: no login yet. */
  readonly epoch: number;
  /** Oldest epoch first. */
  readonly slots: readonly SessionSlot[];
  /** The last ones, `failedOverSlotsMax` at most, oldest first. */
  readonly failedOver?: readonly FailedOverSlot[] | undefined;
}

/** Where a device's open sessions are. */
export interface DeviceSlots {
  readonly sleep: readonly SessionSlot[];
  readonly signal: readonly SessionSlot[];
}

export interface DeviceRow {
  readonly sleep: SharedConnection;
  readonly signal: SharedConnection;
}

/** `lost`: its lease is gone, and its sessions are being closed. */
export type MemberState = 'up' | 'draining' | 'lost';

/** Knowledge of other members older than this is stale: two renewals have not come. Half a renewal more for delays. */
export const memberKnowledgeMsMax = 2.5 * leaseRenewMs;

/** A member's state as operators see it. `silent`: it should be up, and its last sign of life is too old. */
export type ShownMemberState = MemberState | 'silent';

/** What a member says of itself, and what others make of it. */
export interface MemberStatus {
  readonly member: MemberId;
  readonly node: string;
  readonly state: MemberState;
  readonly version: string;
  /** Wall milliseconds. */
  readonly startedAtMs: number;
  readonly sleepSessions: number;
  readonly signalSessions: number;
  /** Changes that it has not yet brought to where all can see them. */
  readonly outboxLength: number;
  /** Events of the log that it has not seen yet. */
  readonly eventLag: number;
  /** Milliseconds since its lease was last seen renewed; 0: this is the member that tells. */
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

/** `node` may hold any character; the incarnation letters, digits and dashes. */
const memberIdForm = /^.{1,255}@[\w-]{1,64}$/su;

/** Over all lives of a node: a member without its incarnation. */
export function nodeOf(member: MemberId): string {
  return member.slice(0, member.lastIndexOf('@'));
}

/** Null: no member's id. */
export function parseMemberId(text: string): MemberId | null {
  return memberIdForm.test(text) ? (text as MemberId) : null;
}

/** A live call, as all members see it. */
export interface SharedCall {
  readonly sessionId: SessionId;
  readonly state: LiveCallState;
}

/** A call that ended with its node, and the event of its end, which may not be published yet. */
export interface LostCall extends MarkedEvent {
  readonly sessionId: SessionId;
}

/** The node that issues a device's calls while it lives, and the calls. */
export interface DeviceCalls {
  readonly node: MemberId;
  readonly calls: readonly SharedCall[];
  /** Calls of nodes before it: the latest `lostCallsMax`. */
  readonly lost: readonly LostCall[];
}
