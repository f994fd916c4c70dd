/** Words of the signaling connection. Source: signal-wire.md. */
import type { DeviceId, MessageId, RequestId } from './ids.ts';
import type { JsonObject } from './json.ts';

/**
 * Why a signal session ended. `peer_closed`: a close or the end of the stream; `bye`: the device said so first;
 * `reset`: the connection broke; `malformed`: it broke the protocol;
 * `flood`: it sent faster than the rates allow. `replaced` is known to metrics only: it is no
 * offline.
 */
export const signalEndReasons = [
  'peer_closed',
  'bye',
  'reset',
  'heartbeat_timeout',
  'malformed',
  'flood',
  'replaced',
  'kicked',
  'drain',
  'node_lost',
] as const;
export type SignalEndReason = (typeof signalEndReasons)[number];

/** Why a controller was not let in. `busy`: as many as may are here, or the store is far behind. `flood`: it sends and does not log in. */
export const signalRefusals = ['timeout', 'malformed', 'denied', 'busy', 'flood'] as const;
export type SignalRefusal = (typeof signalRefusals)[number];

/** A login message whose form is right; its proof is not yet checked. */
export interface SignalLogin {
  readonly deviceId: DeviceId;
  /** 32 bytes. */
  readonly mac: Uint8Array;
  /** The capabilities the device reports of itself, at most 2 KiB of JSON; null: none. */
  readonly media: JsonObject | null;
}

/** What the module says woke its controller. */
export const wakeCauses = ['remote', 'event', 'abnormal'] as const;
export type WakeCause = (typeof wakeCauses)[number];

export interface WakeReport {
  readonly cause: WakeCause;
  /** The wakeup it speaks of; null: the one that this session's login completed. */
  readonly requestId: RequestId | null;
}

/** A backend's message on its way to a controller. */
export interface DeviceMessage {
  readonly id: MessageId;
  readonly name: string;
  readonly payload: JsonObject;
}

/**
 * What became of a message. `acknowledged`: the device says it has it. `unknown`: no acknowledgement in time, or the
 * connection ended before one. `busy`: as many as may wait on this connection already; nothing was sent.
 */
export type DeliveryResult = 'acknowledged' | 'unknown' | 'busy';

/** Pieces in which one message arrives, as fragments or off the wire; a message of more is answered with 1008. */
export const signalPiecesMax = 4096;
/** Request line and headers of an upgrade; beyond it 431. */
export const signalRequestBytesMax = 4 * 1024;
/** A connection has this long for its TLS handshake and its request together, however it sends them. */
export const signalRequestMsMax = 10_000;
/** A controller that was sent a close frame, and stays, is closed without one after it. */
export const signalLingerMsMax = 5000;
