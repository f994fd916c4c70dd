/**
 * `state.mdb`: what the running server observes. Never written by an import, so that no record waits for one.
 * Of each kind of connection one table holds the records and one the devices whose session is open, so that a
 * start after a crash finds what was open without a walk through all.
 */
import { join } from 'node:path';
import type { ConnectionKind } from '../../model/cluster.ts';
import type { CallRow, CallTable } from '../records/call-rows.ts';
import type { ConnectionTables } from '../records/connection-rows.ts';
import { Environment, type EnvironmentMode, type Table } from './environment.ts';
import type { EventRow, EventTables } from '../events/event-rows.ts';
import type { OutboxTables } from '../journal/outbox-rows.ts';
import { type WakeupTables, wakeupTableNames } from '../records/wakeup-rows.ts';
import { storeFileNames } from './store-format.ts';

export class StateTables {
  readonly environment: Environment;
  readonly connections: { readonly [Kind in ConnectionKind]: ConnectionTables };
  /** Null: the store is looked on and was last written by a release that had no log. */
  readonly events: EventTables | null;
  #wakeups: WakeupTables | null = null;
  #calls: CallTable | null = null;
  #outbox: OutboxTables | null = null;
  #toldNotices: Table<number> | null = null;

  /** `environment`: the directory's file where it is open already. */
  constructor(
    directory: string,
    mode: EnvironmentMode,
    environment = new Environment(join(directory, storeFileNames.state), mode),
  ) {
    this.environment = environment;
    this.connections = { sleep: this.#connectionTables('sleep'), signal: this.#connectionTables('signal') };
    this.events = this.#eventTables();
  }

  /** For who writes: made where they are not. */
  get wakeups(): WakeupTables {
    return (this.#wakeups ??= {
      records: this.environment.table(wakeupTableNames.records),
      times: this.environment.table(wakeupTableNames.times),
      awaited: this.environment.table(wakeupTableNames.awaited),
      latest: this.environment.table(wakeupTableNames.latest),
    });
  }

  /** The same. */
  get calls(): CallTable {
    return (this.#calls ??= this.environment.table<CallRow>('call-sessions'));
  }

  /** The same. One row: the place of the newest notice of the registry whose event is in the log. */
  get toldNotices(): Table<number> {
    return (this.#toldNotices ??= this.environment.table<number>('told-notices'));
  }

  /** The same; only one of several nodes has them. */
  get outbox(): OutboxTables {
    return (this.#outbox ??= {
      items: this.environment.table('outbox'),
      places: this.environment.table('outbox-places'),
    });
  }

  #connectionTables(kind: ConnectionKind): ConnectionTables {
    return {
      records: this.environment.table(`${kind}-records`),
      open: this.environment.table(`${kind}-open`),
    };
  }

  #eventTables(): EventTables | null {
    const events = this.environment.findTable<EventRow>('events');
    if (events === null) return null;
    return {
      events,
      seqs: this.environment.table('event-seqs'),
      forgotten: this.environment.table('forgotten-events'),
    };
  }
}
