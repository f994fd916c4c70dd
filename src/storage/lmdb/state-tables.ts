/**
 * `state.mdb`: state of the running server. No import writes to it, so records never wait for one. For each kind of connection, one
 * table holds the records and one the devices with an open session, so that a start after a crash needs no full scan.
 */
import { join } from 'node:path';
import type { ConnectionKind } from '../../model/cluster.ts';
import type { CallTable } from '../records/call-rows.ts';
import type { ConnectionTables } from '../records/connection-rows.ts';
import { Environment, type Table } from './environment.ts';
import type { EventTables } from '../events/event-rows.ts';
import type { OutboxTables } from '../journal/outbox-rows.ts';
import type { WakeupTables } from '../records/stored-wakeups.ts';
import { storeFileNames } from './store-format.ts';

export class StateTables {
  readonly environment: Environment;
  readonly connections: { readonly [Kind in ConnectionKind]: ConnectionTables };
  readonly events: EventTables;
  readonly wakeups: WakeupTables;
  readonly calls: CallTable;
  /** One row: place of the newest registry notice with an event in the log. */
  readonly publishedNotices: Table<number>;
  /** Used by cluster nodes only. */
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
      records: environment.table('wakeup-records'),
      names: environment.table('wakeup-names'),
      awaited: environment.table('awaited-wakeups'),
      latest: environment.table('latest-wakeups'),
    };
    this.calls = environment.table('call-sessions');
    this.publishedNotices = environment.table('told-notices');
    this.outbox = { items: environment.table('outbox'), places: environment.table('outbox-places') };
  }

  #connectionTables(kind: ConnectionKind): ConnectionTables {
    return {
      records: this.environment.table(`${kind}-records`),
      open: this.environment.table(`${kind}-open`),
    };
  }
}
