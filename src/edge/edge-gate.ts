/**
 * The gate by which edges connect to their core: local ones over a Unix socket, others over TLS by a key that both ends
 * share. The core sees all of them as one sleep front. Source: scale-out.md, Edges.
 */
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { LoopProgress } from '../lib/loop-progress.ts';
import type { Admission, SleepSessions } from '../core/ports/device-sessions.ts';
import type { ListenAddress } from '../model/settings-values.ts';
import type { SleepTelemetry } from '../telemetry/telemetry.ts';
import type { SleepSettings } from './settings.ts';
import type { EdgeFacts, SleepFront } from './sleep-front.ts';

export interface EdgeGateSettings {
  readonly sleep: Pick<SleepSettings, 'listen' | 'max_sessions' | 'write_deadline_ms'>;
  /** The Unix socket, or the named pipe, of local edges; null: there are none. Its path is short enough for the system. */
  readonly socketPath: string | null;
  /** The port of edges on other machines; null: it is off. */
  readonly elsewhere: { readonly address: ListenAddress; readonly keyFile: string } | null;
}

export interface EdgeGateDeps {
  readonly clock: Clock;
  readonly sessions: SleepSessions<Admission>;
  readonly telemetry: SleepTelemetry;
  readonly log: Log;
  readonly progress: LoopProgress;
  readonly release: string;
}

export declare class EdgeGate implements SleepFront {
  constructor(settings: EdgeGateSettings, deps: EdgeGateDeps);
  /** Resolves when edges can connect; rejects with a sentence for the operator. */
  listen(): Promise<void>;
  /** Resolves when so many local edges accept modules. */
  whenListening(count: number): Promise<void>;
  edges(): readonly EdgeFacts[];
  readonly address: ListenAddress;
  readonly maxSessions: number;
  readonly sessionCount: number;
  readonly handshakeCount: number;
  readonly waitingCount: number;
  readonly socketCount: number;
  reloadTls(): Promise<void>;
  drain(ratePerSecond: number, deadlineMs: number): Promise<number>;
  /** Ends the links: edges keep their sockets, and try again. */
  close(): Promise<void>;
}
