/**
 * Messages between an edge and its core. A session is identified by the `number` of its connection, a uint32 unique within the
 * edge process. A message about an unknown number is ignored, since both ends may end a session at the same time. Source:
 * scale-out.md, Edges; docs/edge-protocol.md.
 */
import type { LogLine } from '../../lib/link/link-log.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';
import type {
  CustomData,
  SleepEndReason,
  SleepRefusal,
  WakeMode,
  WakeWriteResult,
} from '../../model/sleep.ts';

/** A core supports this version and the previous one; this is the first. */
export const edgeLinkVersion = 1;

export interface EdgeAddress {
  readonly host: string;
  readonly port: number;
}

export interface EdgeHello {
  readonly kind: 'hello';
  readonly version: number;
  /** Visible ASCII, unique among the edges of a core. */
  readonly name: string;
  /** Identifies the process; stays the same when it reconnects. */
  readonly instance: string;
  readonly release: string;
  readonly pid: number;
  /** The present or future listen address. */
  readonly address: EdgeAddress;
  /** Sleep servers for devices, from the edge's settings; empty: its listen address. */
  readonly advertise: readonly string[];
  readonly maxSessions: number;
}

export interface CoreHello {
  readonly kind: 'hello';
  readonly version: number;
  readonly release: string;
}

export interface BroughtSession {
  readonly number: number;
  readonly deviceId: DeviceId;
  readonly sessionId: SessionId;
  readonly epoch: number;
  readonly wakeMode: WakeMode;
  /** 32 bits, signed. */
  readonly secretMark: number;
  /** Unix seconds; 0: none yet. */
  readonly lastHeartbeatAt: number;
  /** End reason not yet reported to a core; null: open. */
  readonly endedBy: SleepEndReason | null;
}

export interface EdgeTally {
  readonly logins: readonly (readonly ['accepted' | SleepRefusal, number])[];
  readonly ends: readonly (readonly [SleepEndReason, number])[];
  readonly wakeupWriteSeconds: readonly number[];
}

/** Results that an edge can report; only the core knows that an edge is unreachable. */
export type EdgeWakeResult = Exclude<WakeWriteResult, 'unreachable'>;

export type EdgeMessage =
  | EdgeHello
  /** A hello that no core accepts: of another version, or with a field out of range. */
  | { readonly kind: 'unfit'; readonly sentence: string }
  | { readonly kind: 'heartbeat' }
  | {
      readonly kind: 'admit';
      readonly number: number;
      /** The login line without its LF. */
      readonly line: string;
      readonly sessionKey: string;
      readonly hasRoom: boolean;
      /** Remote address of the module; empty: it has disconnected. */
      readonly address: string;
    }
  | {
      readonly kind: 'ended';
      readonly number: number;
      readonly reason: SleepEndReason;
      readonly lastHeartbeatAt: number;
    }
  /** Sessions with a heartbeat in this second. */
  | { readonly kind: 'heartbeats'; readonly at: number; readonly numbers: Uint32Array }
  | { readonly kind: 'woken'; readonly ask: number; readonly result: EdgeWakeResult }
  | { readonly kind: 'counts'; readonly sockets: number }
  | ({ readonly kind: 'tally' } & EdgeTally)
  | LogLine
  /** `left`: sessions that are still open. */
  | { readonly kind: 'drained'; readonly ask: number; readonly left: number }
  /** `problem`: the edge keeps its present certificate; null: reloaded. */
  | { readonly kind: 'tls-reloaded'; readonly ask: number; readonly problem: string | null }
  | ({ readonly kind: 'listening' } & EdgeAddress)
  /** Open sessions that this core, or the previous one, admitted. */
  | { readonly kind: 'bring'; readonly sessions: readonly BroughtSession[] }
  /** All open sessions have been reported; logins follow. */
  | { readonly kind: 'brought' }
  | { readonly kind: 'probed' };

export type CoreMessage =
  | CoreHello
  /** Instead of a hello; then the link ends. */
  | { readonly kind: 'declined'; readonly version: number; readonly sentence: string }
  | { readonly kind: 'heartbeat' }
  /** The answer to `admit`; for a reported session: it continues as a new session. */
  | {
      readonly kind: 'admitted';
      readonly number: number;
      readonly sessionId: SessionId;
      readonly epoch: number;
      readonly secretMark: number;
    }
  | { readonly kind: 'refused'; readonly number: number; readonly refusal: 'denied' | 'busy' }
  | { readonly kind: 'wake'; readonly number: number; readonly ask: number; readonly customData: CustomData }
  | { readonly kind: 'close'; readonly number: number; readonly reason: SleepEndReason }
  | {
      readonly kind: 'drain';
      readonly ask: number;
      readonly perSecond: number;
      readonly deadlineMs: number;
    }
  | { readonly kind: 'reload-tls'; readonly ask: number }
  /** Answered at once: measures the link's delay. */
  | { readonly kind: 'probe' }
  /** Another edge at the same address has room, or none has any longer. */
  | { readonly kind: 'balance'; readonly othersHaveRoom: boolean };
