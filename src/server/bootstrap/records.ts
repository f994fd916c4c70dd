/** Records of the server’s observations, which must be durable. */
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import { completesWithin } from '../../lib/clock.ts';
import type { EventDraft, EventType } from '../../model/events.ts';
import type { ConnectionKind } from '../../model/cluster.ts';
import type { DeviceId, ProductId, SessionId } from '../../model/ids.ts';
import { CallRecordStore } from '../../storage/records/call-record-store.ts';
import { ConnectionRecordStore } from '../../storage/records/connection-record-store.ts';
import { EventRetention } from '../../storage/events/event-retention.ts';
import { EventStore } from '../../storage/events/event-store.ts';
import { Committer, type RecordStore } from '../../storage/journal/committer.ts';
import { Journal } from '../../storage/journal/journal.ts';
import { JournalSlot } from '../../storage/journal/journal-slot.ts';
import type { EventTransition } from '../../storage/journal/transition.ts';
import type { StateTables } from '../../storage/lmdb/state-tables.ts';
import { probeDisk } from '../../storage/lmdb/disk-room.ts';
import { isDiskFault } from '../../storage/lmdb/store-fault.ts';
import { backlogMax, loginsBacklogMax } from '../../storage/lmdb/store-limits.ts';
import { LostSessions, type IsGone } from '../../storage/journal/lost-sessions.ts';
import { StoredEvents } from '../../storage/events/stored-events.ts';
import { RegistryEventStore } from '../../storage/records/registry-event-store.ts';
import { WakeupRecordStore } from '../../storage/records/wakeup-record-store.ts';
import type { Settings } from '../config/settings-schema.ts';
import type { StoreHealth } from './store-health.ts';

export type Records = Readonly<ReturnType<typeof openRecords>>;

export interface RecordsDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly node: string;
  readonly health: StoreHealth;
  /** The device's current product; null: no such device. Exceptions count as null. */
  readonly productOf: (deviceId: DeviceId) => ProductId | null;
  /** Stores the transitions. */
  readonly store: RecordStore;
  /** Called for every committed event. */
  readonly onEvent?: (type: EventType) => void;
}

const dayMs = 24 * 3600 * 1000;

/** Throws when the store cannot be read. */
export function openRecords(
  state: StateTables,
  settings: Pick<Settings, 'wakeup' | 'events'>,
  deps: RecordsDeps,
) {
  const { clock, log, health, productOf, store, onEvent } = deps;
  const { environment } = state;
  const batch = (write: () => void): Promise<void> => environment.transaction(write);
  const committer = new Committer(environment, store);
  const journal = new Journal({
    clock,
    committer,
    productOf,
    backlogMax,
    loginsMax: loginsBacklogMax,
    mayAccept: async (failure) => !isDiskFault(failure) || (await probeDisk(environment.directory)) === null,
    onHealth: (failure) => health.healthChanged(failure),
    onLogins: (areClosed) => health.loginsChanged(areClosed),
  });
  health.count(() => journal.backlog);
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
  if (onEvent !== undefined)
    events.follow((committed) => {
      for (const { type } of committed) onEvent(type);
    });
  const bare = new JournalSlot<EventTransition>(journal, () => undefined);
  const connections = {
    sleep: new ConnectionRecordStore(state, 'sleep', journal),
    signal: new ConnectionRecordStore(state, 'signal', journal),
  };
  const lost = new LostSessions({ state, records: connections, node: deps.node });
  return {
    ...connections,
    wakeups,
    calls: new CallRecordStore(state, journal),
    events,
    /** Appends an event that changes no record. */
    appendEvent: (event: EventDraft): void => bare.write(event.deviceId, { kind: 'events', event }, true),
    /** Changes of the registry, as events. */
    registryEvents: new RegistryEventStore(state, journal),
    /**
     * Ends, as `node_lost` at the present time, sessions that ended processes left open. Resolves with their numbers once committed.
     * Rejects when the store cannot be read.
     */
    async closeSessionsOf(isGone: IsGone) {
      const atMs = clock.wallMs();
      const signal = await lost.close('signal', isGone, atMs);
      return { signal, sleep: await lost.close('sleep', isGone, atMs) };
    },
    allCommitted: () => journal.allCommitted(),
    /** True: the store is far behind, and devices without a session are refused. */
    loginsAreClosed: () => journal.loginsAreClosed,
    /** Resolves when all writes are committed, or the store has refused them for too long. */
    async close(): Promise<void> {
      for (const stop of stops) stop();
      const isWhole = await completesWithin(clock, health.stopWaitMsMax, journal.allCommitted());
      if (!isWhole) health.stopsWithoutStore();
    },
  };
}

/** True: the session, open in the store, continues in this process or may do so. */
export type IsContinued = (session: SessionId, deviceId: DeviceId, connection: ConnectionKind) => boolean;

/**
 * Ends sessions that a crash left open as `node_lost`. Resolves once committed. `isContinued`: true for sessions of earlier processes
 * that this one continues, or may continue.
 */
export async function endOpenSessions(
  { records, log }: Pick<RecordsDeps, 'log'> & { readonly records: Records },
  isContinued: IsContinued,
): Promise<void> {
  // Only one process writes this store, so open sessions are from an earlier one.
  const { sleep, signal } = await records.closeSessionsOf((...of) => !isContinued(...of));
  if (sleep + signal > 0)
    log.warn(
      { sleep, signal, reason: 'node_lost' },
      'sessions: closed as node_lost: left open by an earlier process',
    );
}
