/** The sleep port as the core's process has it: a listener of its own, or the edges that hold the sockets. */
import type { ListenAddress } from '../lib/connections/listen-address.ts';

export interface SleepFront {
  /** The address that modules reach; valid once it listens. */
  readonly address: ListenAddress;
  readonly sessionCount: number;
  /** Sockets of modules, wherever they are held. */
  readonly socketCount: number;
  /** Throws, or rejects, with a sentence when files are not in order: the certificate in force stays. */
  reloadTls(): void | Promise<void>;
  /**
   * Accepts no more, refuses logins under way, and ends sessions at the rate. Sessions left after `deadlineMs` stay as
   * they are; resolves with their number.
   */
  drain(ratePerSecond: number, deadlineMs: number): Promise<number>;
  close(): Promise<void>;
}

/** One edge, as the core knows it. */
export interface EdgeFacts {
  readonly name: string;
  /** False: it runs on another machine. */
  readonly isLocal: boolean;
  /** `away`: its link is cut, and its sessions wait for it to return. */
  readonly state: 'linked' | 'listening' | 'away';
  readonly pid: number;
  readonly release: string;
  readonly address: ListenAddress;
  /** Sleep servers for devices, as configured at the edge; empty: the address it listens on. */
  readonly advertise: readonly string[];
  readonly sessions: number;
  /** From a probe to its answer, within the last second or so; null: not measured yet. */
  readonly linkDelayMs: number | null;
}
