/**
 * `state.mdb`: what the running server observes. Never written by an import, so that no record waits for one.
 * Of each kind of connection one table holds the records and one the devices whose session is open, so that a
 * start after a crash finds what was open without a walk through all.
 */
import { join } from 'node:path';
import type { ConnectionKind } from '../../model/cluster.ts';
import type { CallTable } from '../records/call-rows.ts';
import type { ConnectionTables } from '../records/connection-rows.ts';
import { Environment, type Table } from './environment.ts';
import type { EventTables } from '../events/event-rows.ts';
import type { OutboxTables } from '../journal/outbox-rows.ts';
import type { WakeupTables } from '../records/wakeup-rows.ts';
import { storeFileNames } from './store-format.ts';

export class StateTables {
  readonly environment: Environment;
  readonly connections: { readonly [Kind in ConnectionKind]: ConnectionTables };
  readonly events: EventTables;
  readonly wakeups: WakeupTables;
  readonly calls: CallTable;
  /** One row: the place of the newest notice of the registry whose event is in the log. */
  readonly toldNotices: Table<number>;
  /** Only one of several nodes puts anything here. */
  readonly outbox: OutboxTables;

  constructor(directory: string, environment = new Environment(join(directory, storeFileNames.state))) {
    this.environment = environment;
    this.connections = { sleep: this.#connectionTables('sleep'), signal: this.#connectionTables('signal') };
    this.events = {
      events: environment.table('events'),
      seqs: environment.table('event-seqs'),
      forgotten: environment.table('forgotten-events'),
    };
    this.wakeups = {
      records: environment.table('wakeups'),
      times: environment.table('wakeup-times'),
      awaited: environment.table('wakeups-awaited'),
      latest: environment.table('wakeups-of-devices'),
    };
    this.calls = environment.table('call-sessions');
    this.toldNotices = environment.table('told-notices');
    this.outbox = { items: environment.table('outbox'), places: environment.table('outbox-places') };
  }

  #connectionTables(kind: ConnectionKind): ConnectionTables {
    return {
      records: this.environment.table(`${kind}-records`),
      open: this.environment.table(`${kind}-open`),
    };
  }
}
