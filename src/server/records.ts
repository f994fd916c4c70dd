/** What the server observes and must not forget, and readiness that follows the store's health. */
import type { Clock } from '../base/clock.ts';
import { settlesWithin } from '../base/settles-within.ts';
import type { EventType } from '../domain/events.ts';
import type { DeviceId, ProductId } from '../domain/ids.ts';
import type { Readiness } from '../ops/readiness.ts';
import type { Log } from '../ports/log.ts';
import { CallRecordStore } from '../store/call-record-store.ts';
import { ConnectionRecordStore } from '../store/connection-record-store.ts';
import type { Sight } from '../store/environment.ts';
import { EventRetention } from '../store/event-retention.ts';
import { EventStore } from '../store/event-store.ts';
import { EventWriter } from '../store/event-writer.ts';
import { Journal } from '../store/journal.ts';
import type { StateTables } from '../store/state-tables.ts';
import { StoredEvents } from '../store/stored-events.ts';
import { WakeupRecordStore } from '../store/wakeup-record-store.ts';
import type { Settings } from './settings-schema.ts';

export interface Records {
  readonly sleep: ConnectionRecordStore;
  readonly signal: ConnectionRecordStore;
  readonly wakeups: WakeupRecordStore;
  readonly calls: CallRecordStore;
  readonly events: EventStore;
  /** The store is far behind: what would open a session waits outside. */
  isOverloaded(): boolean;
  /** Resolves when everything written is committed, or the store has refused it for too long. */
  close(): Promise<void>;
}

export interface RecordsHouse {
  readonly clock: Clock;
  readonly log: Log;
  readonly readiness: Readiness;
  /** The device's product now; null: there is no such device. What it throws counts as none. */
  readonly productOf: (deviceId: DeviceId) => ProductId | null;
  /** Told of every event that is committed. */
  readonly onEvent?: (type: EventType) => void;
}

/** Entries in memory that the store has not taken; beyond it the store is overloaded. */
const backlogMax = 1_000_000;
/** A store that takes nothing, a full disk, must not keep a server from stopping. */
const closeMsMax = 10_000;
const dayMs = 24 * 3600 * 1000;

/** Throws when the store cannot be read. */
export function openRecords(
  state: StateTables,
  settings: Pick<Settings, 'wakeup' | 'events'>,
  house: RecordsHouse,
): Records {
  const { clock, log, productOf } = house;
  const batch = (write: () => void, sight: Sight | null = null): Promise<void> =>
    state.environment.batch(write, sight);
  const onHealth = (failure: unknown): void => tellHealth(house, failure);
  const journal = new Journal({
    clock,
    events: new EventWriter(state, productOf),
    batch,
    backlogMax,
    onHealth,
  });
  const events = new EventStore(new StoredEvents(state), journal, log);
  const wakeups = new WakeupRecordStore(state, journal, {
    clock,
    knownMax: settings.wakeup.known_max,
    batch,
  });
  const { retention_days: days, retained_max: maxCount } = settings.events;
  const retention = new EventRetention(state, {
    clock,
    log: events,
    batch,
    maxAgeMs: days * dayMs,
    maxCount,
  });
  const stops = [wakeups.start(), retention.start()];
  tellEvents(events, house);
  return {
    sleep: new ConnectionRecordStore(state, 'sleep', journal),
    signal: new ConnectionRecordStore(state, 'signal', journal),
    wakeups,
    calls: new CallRecordStore(state, journal),
    events,
    isOverloaded: () => journal.isOverloaded,
    async close() {
      for (const stop of stops) stop();
      if (!(await settlesWithin(clock, closeMsMax, journal.allCommitted())))
        log.error({ waited_ms: closeMsMax }, 'stopping without what the store refuses to take');
    },
  };
}

function tellEvents(events: EventStore, { onEvent }: RecordsHouse): void {
  if (onEvent === undefined) return;
  events.follow((committed) => {
    for (const { type } of committed) onEvent(type);
  });
}

function tellHealth({ log, readiness }: RecordsHouse, failure: unknown): void {
  if (failure === null) {
    readiness.clear('store');
    log.info({}, 'the store takes writes again');
  } else {
    readiness.set('store');
    log.error({ err: failure }, 'the store refuses writes; tried again every second');
  }
}
