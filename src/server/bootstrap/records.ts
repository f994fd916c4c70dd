/**
 * The records of the server’s observations, which it must not forget.
 */
import { type Clock, settlesWithin } from '../../lib/clock.ts';
import type { ConnectionKind, MemberId } from '../../model/cluster.ts';
import type { EventDraft, EventType } from '../../model/events.ts';
import type { DeviceId, ProductId, SessionId } from '../../model/ids.ts';
import type { Log } from '../../core/ports/log.ts';
import type { SharedHeartbeats } from '../../core/ports/session-locator.ts';
import { CallRecordStore } from '../../storage/records/call-record-store.ts';
import {
  ConnectionRecordStore,
  StoredSessionLocator,
} from '../../storage/records/connection-record-store.ts';
import { EventRetention } from '../../storage/events/event-retention.ts';
import { EventStore } from '../../storage/events/event-store.ts';
import { Committer, type RecordStore } from '../../storage/journal/committer.ts';
import { Journal } from '../../storage/journal/journal.ts';
import { JournalSlot } from '../../storage/journal/journal-slot.ts';
import type { EventTransition } from '../../storage/journal/transition.ts';
import type { StateTables } from '../../storage/lmdb/state-tables.ts';
import { probeDisk } from '../../storage/lmdb/disk-probe.ts';
import { isDiskFault } from '../../storage/lmdb/store-fault.ts';
import { backlogMax, loginsBacklogMax } from '../../storage/lmdb/store-limits.ts';
import { LostSessions } from '../../storage/journal/lost-sessions.ts';
import { StoredEvents } from '../../storage/events/stored-events.ts';
import { RegistryEventStore } from '../../storage/records/registry-event-store.ts';
import { WakeupRecordStore } from '../../storage/records/wakeup-record-store.ts';
import type { Settings } from '../config/settings-schema.ts';
import type { StoreHealth } from './store-health.ts';

export interface Records {
  readonly sleep: ConnectionRecordStore;
  readonly signal: ConnectionRecordStore;
  readonly wakeups: WakeupRecordStore;
  readonly calls: CallRecordStore;
  readonly events: EventStore;
  /** An event that changes no record. */
  appendEvent(event: EventDraft): void;
  /** Changes of the registry, as events. */
  readonly registryEvents: RegistryEventStore;
  /** By the rows of this store. */
  readonly locator: StoredSessionLocator;
  /** Ends as `node_lost`, at `atMs` wall milliseconds, what processes that are gone left open; resolves to how many. */
  closeSessionsOf(
    connection: ConnectionKind,
    isGone: (member: MemberId, session: SessionId) => boolean,
    atMs: number,
  ): Promise<number>;
  allCommitted(): Promise<void>;
  /** The store is far behind: a device that has no session is not let in. */
  readonly loginsAreClosed: () => boolean;
  /** Resolves when everything written is committed, or the store has refused it for too long. */
  close(): Promise<void>;
}

export interface RecordsDeps {
  readonly clock: Clock;
  /** The name of this node, in events. */
  readonly node: string;
  readonly log: Log;
  readonly health: StoreHealth;
  /** The device's product now; null: there is no such device. What it throws counts as none. */
  readonly productOf: (deviceId: DeviceId) => ProductId | null;
  /** What transitions come to, and where. */
  readonly store: RecordStore;
  /** Of the sessions of other processes that write the store; left out: there are none. */
  readonly heartbeats?: SharedHeartbeats | undefined;
  /** It does what one of all who write the store does. */
  readonly isCoordinator: boolean;
  /** Told of every event that is committed. */
  readonly onEvent?: (type: EventType) => void;
}

const dayMs = 24 * 3600 * 1000;

/** Throws when the store cannot be read. */
export function openRecords(
  state: StateTables,
  settings: Pick<Settings, 'wakeup' | 'events'>,
  deps: RecordsDeps,
): Records {
  const { clock, log, health, productOf, store } = deps;
  const { environment } = state;
  const batch = (write: () => void): Promise<void> => environment.transaction(write);
  const committer = new Committer(environment, store);
  const journal = new Journal({
    clock,
    committer,
    productOf,
    backlogMax,
    loginsMax: loginsBacklogMax,
    mayTake: async (failure) => !isDiskFault(failure) || (await probeDisk(environment.directory)) === null,
    onHealth: (failure) => health.turned(failure),
    onLogins: (areClosed) => health.loginsTurned(areClosed),
  });
  health.count(() => journal.backlog);
  const events = new EventStore(new StoredEvents(state), journal, log, () => committer.look());
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
  const stops = environment.mode === 'shared' ? [wakeups.followOthers(), events.start(clock)] : [];
  if (deps.isCoordinator) stops.push(wakeups.start(), retention.start());
  notifyEvents(events, deps);
  const bare = new JournalSlot<EventTransition>(journal, () => undefined);
  const lost = new LostSessions(state, journal, deps.node);
  return {
    sleep: new ConnectionRecordStore(state, 'sleep', journal, store.member),
    signal: new ConnectionRecordStore(state, 'signal', journal, store.member),
    wakeups,
    calls: new CallRecordStore(state, journal),
    events,
    appendEvent: (event) => bare.write(event.deviceId, { kind: 'events', event }, true),
    registryEvents: new RegistryEventStore(state, journal),
    locator: new StoredSessionLocator(state, deps.heartbeats),
    closeSessionsOf: (connection, isGone, atMs) => lost.close(connection, isGone, atMs),
    allCommitted: () => journal.allCommitted(),
    loginsAreClosed: () => journal.loginsAreClosed,
    async close() {
      for (const stop of stops) stop();
      const isWhole = await settlesWithin(clock, health.stopWaitMsMax, journal.allCommitted());
      if (!isWhole) health.lost(journal.waiting());
    },
  };
}

function notifyEvents(events: EventStore, { onEvent }: RecordsDeps): void {
  if (onEvent === undefined) return;
  events.follow((committed) => {
    for (const { type } of committed) onEvent(type);
  });
}

/**
 * Sessions that a crash left open end as lost with their node, and that is committed. `adopted`: sleep sessions that go on
 * in this process.
 */
export async function endOpenSessions(
  { records, clock, log }: Pick<RecordsDeps, 'clock' | 'log'> & { readonly records: Records },
  adopted: ReadonlySet<SessionId>,
): Promise<void> {
  const atMs = clock.wallMs();
  // Of an earlier life of the only process that writes this store.
  const isGone = (_member: MemberId, session: SessionId): boolean => !adopted.has(session);
  const signal = await records.closeSessionsOf('signal', isGone, atMs);
  const sleep = await records.closeSessionsOf('sleep', isGone, atMs);
  if (sleep + signal > 0)
    log.warn({ sleep, signal, reason: 'node_lost' }, 'sessions that the last stop left open are ended');
}
