/**
 * `state.mdb`: what the running server observes. Never written by an import, so that no record waits for one.
 * Of each kind of connection one table holds the records and one the devices whose session is open, so that a
 * start after a crash finds what was open without a walk through all.
 */
import { join } from 'node:path';
import { Environment, type EnvironmentMode, type Table } from './environment.ts';

export type ConnectionKind = 'sleep' | 'signal';

/** Times are whole Unix seconds. Add at the end only. */
export type ConnectionRow = readonly [
  epoch: number,
  lastLoginAt: number | null,
  lastHeartbeatAt: number | null,
  lastOfflineAt: number | null,
  openSession: string | null,
];

/** The hash is 32 bytes. Add at the end only. */
export type AcceptedWakeupRow = readonly [deviceId: string, acceptedAtMs: number, bodySha256: Uint8Array];

export interface ConnectionTables {
  readonly records: Table<ConnectionRow>;
  /** Only the keys count. */
  readonly open: Table<true>;
}

export const stateFileName = 'state.mdb';

export class StateTables {
  readonly environment: Environment;
  readonly connections: { readonly [Kind in ConnectionKind]: ConnectionTables };
  readonly acceptedWakeups: Table<AcceptedWakeupRow>;
  /** Keys of accepted wakeups behind the time of their acceptance; only the keys count. */
  readonly acceptedTimes: Table<true>;

  constructor(directory: string, mode: EnvironmentMode) {
    this.environment = new Environment(join(directory, stateFileName), mode);
    this.connections = { sleep: this.#connectionTables('sleep'), signal: this.#connectionTables('signal') };
    this.acceptedWakeups = this.environment.table('accepted-wakeups');
    this.acceptedTimes = this.environment.table('accepted-times');
  }

  #connectionTables(kind: ConnectionKind): ConnectionTables {
    return {
      records: this.environment.table(`${kind}-records`),
      open: this.environment.table(`${kind}-open`),
    };
  }
}
