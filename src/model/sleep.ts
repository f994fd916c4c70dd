/** Types of the sleep connection. Source: sleep-wire.md. */
import type { DeviceId } from './ids.ts';

/** Wake packets that the module supports: the fixed packet, custom data too, or none. */
export type WakeMode = 'fixed' | 'custom' | 'none';

/** Reasons of a sleep session's end. `replaced` appears only in metrics: the device is not offline. */
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

/** Reasons of a refused login, sent after `ERR ` to a module that asked for replies. */
export const sleepRefusals = ['timeout', 'malformed', 'denied', 'busy'] as const;
export type SleepRefusal = (typeof sleepRefusals)[number];

/** A well-formed login line; its mac is not yet verified. */
export interface SleepLogin {
  readonly deviceId: DeviceId;
  readonly wakeMode: WakeMode;
  /** Heartbeat interval of the module, 5-3600. */
  readonly heartbeatSeconds: number;
  /** True: the module reads `OK` or `ERR reason`; false: the server stays silent. */
  readonly wantsReply: boolean;
  /** 32 bytes. */
  readonly mac: Uint8Array;
  /** The text under the mac, from `RVL1` to the reply field. */
  readonly signedText: string;
}

/** The last two bytes of a wake packet; null: the fixed packet's `00 00`. */
export type CustomData = Uint8Array | null;

/**
 * Result of writing the 8 bytes. `written`: the kernel accepted them; `refused`: certainly not sent; `unknown`: no answer within
 * the deadline; `busy`: too many writes wait on this connection; `unreachable`: not sent, because the connection's edge cannot
 * be reached.
 */
export type WakeWriteResult = 'written' | 'refused' | 'unknown' | 'busy' | 'unreachable';

/** Sleep connections closed by their peers that are ended per turn of the event loop; further ones wait for the next. */
export const sleepEndsPerTurnMax = 100;
/** Listening sockets per process, whose accept queues add up. */
export const sleepListenSocketsMax = 8;

/** Edges, and limits of their link to the core besides those of the media link. Source: scale-out.md, Edges. */

/** Capacity in sessions that one edge may announce. */
export const edgeSessionsMax = 10_000_000;
/** Sleep server addresses given to a controller. Source: sleep-wire.md. */
export const sleepServersMax = 3;
/** Edges per core; a further one is declined. */
export const edgesMax = 256;
/** Sessions of a remote edge end when its link has been down for this long. */
export const edgeAwayMsMax = 10_000;
/** Sessions per message when an edge reconnects. */
export const edgeBringSessionsMax = 400;
export const edgeHeartbeatsMax = 16_384;
export const edgeTallyCountMax = 100_000;
/** Unanswered wakeups per edge; beyond it wakeups are not sent. */
export const edgeWakesMax = 20_000;
/** Additional wait for a wakeup's answer beyond the write deadline. */
export const edgeWakeMarginMs = 500;
/** Additional wait for a draining edge beyond the deadline; also the deadline for reloading a certificate. */
export const edgeAnswerMsMax = 2000;
/**
 * A wakeup for a device whose session no edge has reported to a new core yet waits this long; then 50301. Source: scale-out.md,
 * Edges.
 */
export const unclaimedWakeupMsMax = 2000;
/** Wakeups that wait for edges at once; beyond it 50301 immediately. */
export const unclaimedWakeupsMax = 20_000;
