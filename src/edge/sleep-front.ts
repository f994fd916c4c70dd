/** The sleep port as the core sees it: its own listener, or the edges that hold the sockets. */
import type { ListenAddress } from '../lib/connections/listen-address.ts';

export interface SleepFront {
  /** The address that modules reach; valid once it listens. */
  readonly address: ListenAddress;
  readonly sessionCount: number;
  /** Sockets of modules, here or at edges. */
  readonly socketCount: number;
  /** Throws, or rejects, with a sentence when files are invalid; the old certificate stays in force. */
  reloadTls(): void | Promise<void>;
  /**
   * Stops accepting, refuses pending logins, and ends sessions at the rate. Resolves, after `deadlineMs` at the latest, with the
   * number of sessions still open.
   */
  drain(ratePerSecond: number, deadlineMs: number): Promise<number>;
  close(): Promise<void>;
}

/** An edge as the core sees it. */
export interface EdgeFacts {
  readonly name: string;
  /** False: it runs on another machine. */
  readonly isLocal: boolean;
  /** `away`: the link is cut, and the sessions wait for its return. */
  readonly state: 'linked' | 'listening' | 'away';
  readonly pid: number;
  readonly release: string;
  readonly address: ListenAddress;
  /** Sleep servers for devices, configured at the edge; empty: its listen address. */
  readonly advertise: readonly string[];
  readonly sessions: number;
  /** Round trip of the last probe, about a second old; null: not measured yet. */
  readonly linkDelayMs: number | null;
}
