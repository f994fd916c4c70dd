/**
 * The messages between an edge and its core, both ways. Sessions are named by the `number` that the edge gave their
 * connection: a uint32, which one edge process gives once. A message about a number that is not there is ignored, since
 * both ends may end a session at a time. Source: scale-out.md, Edges; docs/edge-protocol.md.
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

/** A core speaks this version and the one before; there is none before the first. */
export const edgeLinkVersion = 1;

export interface EdgeAddress {
  readonly host: string;
  readonly port: number;
}

/** The first message of an edge. */
export interface EdgeHello {
  readonly kind: 'hello';
  readonly version: number;
  /** Visible ASCII, unique among the edges of a core. */
  readonly name: string;
  /** Names the process: the same each time that it connects. */
  readonly instance: string;
  readonly release: string;
  readonly pid: number;
  /** The address it listens on, or will. */
  readonly address: EdgeAddress;
  /** Sleep servers for devices, by its own settings; empty: the address. */
  readonly advertise: readonly string[];
  readonly maxSessions: number;
}

/** The answer to it. */
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
  /** The reason by which it has ended since the core was last told; null: it is open. */
  readonly endedBy: SleepEndReason | null;
}

/** Counted since the last one. */
export interface EdgeTally {
  readonly logins: readonly (readonly ['accepted' | SleepRefusal, number])[];
  readonly ends: readonly (readonly [SleepEndReason, number])[];
  readonly wakeupWriteSeconds: readonly number[];
}

/** The results that an edge can give: it knows of no link. */
export type EdgeWakeResult = Exclude<WakeWriteResult, 'unreachable'>;

export type EdgeMessage =
  | EdgeHello
  /** A hello that no core accepts, of another version or with a field out of its range. */
  | { readonly kind: 'unfit'; readonly sentence: string }
  | { readonly kind: 'heartbeat' }
  | {
      readonly kind: 'admit';
      readonly number: number;
      /** The login line without its LF. */
      readonly line: string;
      readonly sessionKey: string;
      readonly hasRoom: boolean;
      /** The module's; empty: it is gone already. */
      readonly address: string;
    }
  | {
      readonly kind: 'ended';
      readonly number: number;
      readonly reason: SleepEndReason;
      readonly lastHeartbeatAt: number;
    }
  /** Heartbeats of these sessions in this second. */
  | { readonly kind: 'heartbeats'; readonly at: number; readonly numbers: Uint32Array }
  | { readonly kind: 'woken'; readonly ask: number; readonly result: EdgeWakeResult }
  | { readonly kind: 'counts'; readonly sockets: number }
  | ({ readonly kind: 'tally' } & EdgeTally)
  | LogLine
  /** `left`: sessions that are still open. */
  | { readonly kind: 'drained'; readonly ask: number; readonly left: number }
  /** `problem`: it keeps the certificate that it has; null: it has read the files again. */
  | { readonly kind: 'tls-reloaded'; readonly ask: number; readonly problem: string | null }
  | ({ readonly kind: 'listening' } & EdgeAddress)
  /** Sessions that this core, or the one before it, admitted. */
  | { readonly kind: 'bring'; readonly sessions: readonly BroughtSession[] }
  /** There are no more of them; logins follow. */
  | { readonly kind: 'brought' }
  | { readonly kind: 'probed' };

export type CoreMessage =
  | CoreHello
  /** In place of a hello; the link ends behind it. */
  | { readonly kind: 'declined'; readonly version: number; readonly sentence: string }
  | { readonly kind: 'heartbeat' }
  /** The answer to `admit`; and of a brought session: it is a new one from now on. */
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
  /** To be answered at once: measures the link. */
  | { readonly kind: 'probe' }
  /** Another edge at the same address has room, or none has any longer. */
  | { readonly kind: 'balance'; readonly othersHaveRoom: boolean };
