/** Words of the sleep connection. Source: sleep-wire.md. */
import type { DeviceId } from './ids.ts';

/** What the module can be woken with: the fixed packet only, custom data too, or nothing. */
export type WakeMode = 'fixed' | 'custom' | 'none';

/** Why a sleep session ended. `replaced` is known to metrics only: it is no offline. */
export const sleepEndReasons = [
  'peer_closed',
  'reset',
  'heartbeat_timeout',
  'replaced',
  'kicked',
  'flood',
  'drain',
  'node_lost',
  'write_stuck',
] as const;
export type SleepEndReason = (typeof sleepEndReasons)[number];

/** Why a login was refused; what a module that asked for replies reads after `ERR `. */
export const sleepRefusals = ['timeout', 'malformed', 'denied', 'busy'] as const;
export type SleepRefusal = (typeof sleepRefusals)[number];

/** A login line whose form is right; its proof is not yet checked. */
export interface SleepLogin {
  readonly deviceId: DeviceId;
  readonly wakeMode: WakeMode;
  /** How often the module will send, 5-3600. */
  readonly heartbeatSeconds: number;
  /** True: the module reads `OK` or `ERR reason`; false: the server stays silent. */
  readonly wantsReply: boolean;
  /** 32 bytes. */
  readonly mac: Uint8Array;
  /** The text the mac covers, from `RVL1` to the reply field. */
  readonly signedText: string;
}

/** The two bytes at the end of a wake packet; null: the fixed packet's `00 00`. */
export type CustomData = Uint8Array | null;

/**
 * What became of the 8 bytes. `written`: the kernel has them. `refused`: they were certainly not sent.
 * `unknown`: no answer within the deadline. `busy`: too many wait on this connection already. `unreachable`: nothing was
 * sent, because the edge that holds the connection cannot be reached.
 */
export type WakeWriteResult = 'written' | 'refused' | 'unknown' | 'busy' | 'unreachable';

/** Sleep connections that a turn of the event loop ends because their peers have hung up; the others wait for the next. */
export const sleepEndsPerTurnMax = 100;
/** Sockets that a process accepts from, so that together they hold as many. */
export const sleepListenSocketsMax = 8;

/* Edges, and their link to the core beside the bounds of the media link. Source: scale-out.md, Edges. */

/** Sessions that one edge may say it has room for. */
export const edgeSessionsMax = 10_000_000;
/** Addresses of sleep servers that a controller is given. Source: sleep-wire.md. */
export const sleepServersMax = 3;
/** Edges of one core; beyond it one that comes is declined. */
export const edgesMax = 256;
/** The sessions of an edge elsewhere end after its link was cut for so long. */
export const edgeAwayMsMax = 10_000;
/** Sessions in one message when an edge comes back. */
export const edgeBringSessionsMax = 400;
/** Heartbeats in one message. */
export const edgeHeartbeatsMax = 16_384;
/** Events of one kind in one message of counts. */
export const edgeTallyCountMax = 100_000;
/** Wakeups of one edge without an answer; beyond it they are not sent. */
export const edgeWakesMax = 20_000;
/** A wakeup waits so long for its answer beyond the write deadline. */
export const edgeWakeMarginMs = 500;
/** An edge that drains has so long beyond the deadline to answer; a certificate is read again within the same. */
export const edgeAnswerMsMax = 2000;
/** A wakeup of a device whose session no edge has brought to a new core yet waits so long; then 50301. Source: scale-out.md, Edges. */
export const unclaimedWakeupMsMax = 2000;
/** Wakeups that wait so at a time; beyond it 50301 at once. */
export const unclaimedWakeupsMax = 20_000;
