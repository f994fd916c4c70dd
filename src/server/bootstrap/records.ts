/**
 * The records of the server’s observations, which it must not forget, and readiness that follows the store's health.
 */
import { type Clock, settlesWithin } from '../../lib/clock.ts';
import type { ConnectionKind, MemberId } from '../../model/cluster.ts';
import type { EventType } from '../../model/events.ts';
import type { DeviceId, ProductId } from '../../model/ids.ts';
import type { Readiness } from '../../telemetry/readiness.ts';
import type { Log } from '../../core/ports/log.ts';
import type { SessionLocator } from '../../core/ports/session-locator.ts';
import type { SlotFollower } from '../../core/ports/slot-follower.ts';
import { CallRecordStore } from '../../storage/records/call-record-store.ts';
import { type Committer, LocalCommitter, type Batch } from '../../storage/journal/committer.ts';
import { ConnectionRecordStore } from '../../storage/records/connection-record-store.ts';
import { EventRetention } from '../../storage/events/event-retention.ts';
import { EventStore } from '../../storage/events/event-store.ts';
import { EventWriter } from '../../storage/events/event-writer.ts';
import { Journal } from '../../storage/journal/journal.ts';
import { MirroredLogStore } from '../../storage/events/mirrored-log.ts';
import { OutboxCommitter } from '../../storage/journal/outbox-committer.ts';
import { OutboxStore } from '../../storage/journal/outbox-store.ts';
import type { SharedWriter } from '../../storage/journal/shared-batch.ts';
import { SharedCommitter } from '../../storage/journal/shared-committer.ts';
import type { StateTables } from '../../storage/lmdb/state-tables.ts';
import { LostSessions } from '../../storage/journal/lost-sessions.ts';
import { StoredSessionLocator } from '../../storage/records/stored-session-locator.ts';
import { StoredEvents } from '../../storage/events/stored-events.ts';
import { WakeupRecordStore } from '../../storage/records/wakeup-record-store.ts';
import type { Settings } from '../config/settings-schema.ts';

export interface Records {
  readonly sleep: ConnectionRecordStore;
  readonly signal: ConnectionRecordStore;
  readonly wakeups: WakeupRecordStore;
  readonly calls: CallRecordStore;
  readonly events: EventStore;
  /** By the rows of this store. */
  readonly locator: SessionLocator;
  /** What other nodes are still to be told, and the log that comes back from them; null: there are none. */
  readonly outbox: OutboxStore | null;
  readonly mirror: MirroredLogStore | null;
  /** Told of this process's sessions right after a commit that several agree on, before who follows events. One at most. */
  followSlots(slots: SlotFollower): void;
  /** Ends as `node_lost`, at `atMs` wall milliseconds, what processes that are gone left open; resolves to how many. */
  closeSessionsOf(
    connection: ConnectionKind,
    isGone: (member: MemberId) => boolean,
    atMs: number,
  ): Promise<number>;
  allCommitted(): Promise<void>;
  /** The store is far behind: what would open a session waits outside. */
  isOverloaded(): boolean;
  /** Resolves when everything written is committed, or the store has refused it for too long. */
  close(): Promise<void>;
}

/** How this process stands among several that write the store. */
export interface SharedStoreDeps extends SharedWriter {
  /** It does what only one of them does. */
  readonly isCoordinator: boolean;
  /** It has put events into the log: the others are to be told. Must not throw. */
  readonly grew: () => void;
}

export interface RecordsDeps {
  readonly clock: Clock;
  /** The name of this node, in events. */
  readonly node: string;
  readonly log: Log;
  readonly readiness: Readiness;
  /** The device's product now; null: there is no such device. What it throws counts as none. */
  readonly productOf: (deviceId: DeviceId) => ProductId | null;
  /** Null: this process writes the store alone. */
  readonly shared?: SharedStoreDeps | null;
  /** Who this process is among nodes that share no store; null: there are none. */
  readonly outboxOf?: MemberId | null;
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
  deps: RecordsDeps,
): Records {
  const { clock, log, productOf, shared = null } = deps;
  const batch: Batch = (write, sight) => state.environment.batch(write, sight);
  const onHealth = (failure: unknown): void => notifyHealth(deps, failure);
  const member =
    shared === null ? null : new SharedCommitter(state, { ...shared, events: new EventWriter(state) });
  const outbox = deps.outboxOf === undefined || deps.outboxOf === null ? null : new OutboxStore(state, log);
  const committer = member ?? localCommitter(state, batch, outbox, deps.outboxOf ?? null);
  const journal = new Journal({ clock, committer, productOf, backlogMax, onHealth });
  const events = new EventStore(new StoredEvents(state), journal, log, () => member?.look());
  const wakeups = new WakeupRecordStore(state, journal, {
    clock,
    knownMax: settings.wakeup.known_max,
    batch: (write) => batch(write, null),
  });
  const { retention_days: days, retained_max: maxCount } = settings.events;
  const retention = new EventRetention(state, {
    clock,
    log: events,
    batch: (write) => batch(write, null),
    maxAgeMs: days * dayMs,
    maxCount,
  });
  const stops = shared === null ? [] : [wakeups.followOthers(), events.start(clock)];
  if (shared?.isCoordinator !== false) stops.push(wakeups.start(), retention.start());
  notifyEvents(events, deps);
  const lost = new LostSessions(state, journal, deps.node);
  return {
    sleep: new ConnectionRecordStore(state, 'sleep', journal, shared?.member),
    signal: new ConnectionRecordStore(state, 'signal', journal, shared?.member),
    wakeups,
    calls:
      shared === null
        ? new CallRecordStore(state, journal)
        : new CallRecordStore(state, journal, () => state.environment.refresh()),
    events,
    locator: new StoredSessionLocator(state),
    followSlots: (slots) => member?.follow(slots),
    closeSessionsOf: (connection, isGone, atMs) => lost.close(connection, isGone, atMs),
    outbox,
    mirror:
      outbox === null ? null : new MirroredLogStore(state, { events, batch: (write) => batch(write, null) }),
    allCommitted: () => journal.allCommitted(),
    isOverloaded: () => journal.isOverloaded,
    async close() {
      for (const stop of stops) stop();
      if (!(await settlesWithin(clock, closeMsMax, journal.allCommitted())))
        log.error({ waited_ms: closeMsMax }, 'stopping without what the store refuses to take');
    },
  };
}

/** Alone, events have their places here; among nodes they get them in the log that those share. */
function localCommitter(
  state: StateTables,
  batch: Batch,
  outbox: OutboxStore | null,
  member: MemberId | null,
): Committer {
  if (outbox === null || member === null) return new LocalCommitter(new EventWriter(state), batch);
  return new OutboxCommitter(outbox, batch, member);
}

function notifyEvents(events: EventStore, { onEvent }: RecordsDeps): void {
  if (onEvent === undefined) return;
  events.follow((committed) => {
    for (const { type } of committed) onEvent(type);
  });
}

function notifyHealth({ log, readiness }: RecordsDeps, failure: unknown): void {
  if (failure === null) {
    readiness.clear('store');
    log.info({}, 'the store takes writes again');
  } else {
    readiness.set('store');
    log.error({ err: failure }, 'the store refuses writes; tried again every second');
  }
}
