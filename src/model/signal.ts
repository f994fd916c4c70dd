/** Types of the signal connection. Source: signal-wire.md. */
import type { DeviceId, MessageId, RequestId } from './ids.ts';
import type { JsonObject } from './json.ts';

/**
 * Reasons of a signal session's end. `peer_closed`: a close or the end of the stream; `bye`: the device announced it; `reset`:
 * the connection broke; `malformed`: a protocol error; `flood`: it exceeded the rate limits. `replaced` appears only in metrics:
 * the device is not offline.
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

/** Reasons of a refused controller. `busy`: the server is full, or the store is far behind; `flood`: it sends without logging in. */
export const signalRefusals = ['timeout', 'malformed', 'denied', 'busy', 'flood'] as const;
export type SignalRefusal = (typeof signalRefusals)[number];

/** A well-formed login message; its mac is not yet verified. */
export interface SignalLogin {
  readonly deviceId: DeviceId;
  /** 32 bytes. */
  readonly mac: Uint8Array;
  /** Capabilities that the device reports, at most 2 KiB of JSON; null: none. */
  readonly media: JsonObject | null;
}

export const wakeCauses = ['remote', 'event', 'abnormal'] as const;
export type WakeCause = (typeof wakeCauses)[number];

export interface WakeReport {
  readonly cause: WakeCause;
  /** The reported wakeup; null: the one that this session's login completed. */
  readonly requestId: RequestId | null;
}

export interface DeviceMessage {
  readonly id: MessageId;
  readonly name: string;
  readonly payload: JsonObject;
}

/**
 * Result of a message. `acknowledged`: the device confirmed it; `unknown`: no acknowledgement before the timeout or the end of
 * the connection; `busy`: too many messages wait on this connection; nothing was sent.
 */
export type DeliveryResult = 'acknowledged' | 'unknown' | 'busy';

/** Pieces of one message, as fragments or off the wire; a message of more is answered with 1008. */
export const signalPiecesMax = 4096;
/** Request line and headers of an upgrade; beyond it 431. */
export const signalRequestBytesMax = 4 * 1024;
/** Deadline of a connection's TLS handshake and request together. */
export const signalRequestMsMax = 10_000;
/** A controller that was sent a close frame, and stays, is disconnected after this. */
export const signalLingerMsMax = 5000;
