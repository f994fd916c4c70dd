/** One of several processes that write a store, as far as its records go: told what it tells, in one list. */
import type { ConnectionKind, MemberId } from '../../src/model/cluster.ts';
import type { LoggedEvent } from '../../src/model/events.ts';
import type { DeviceId, ProductId, SessionId } from '../../src/model/ids.ts';
import type { SlotClaimed } from '../../src/core/ports/session-locator.ts';
import {
  ConnectionRecordStore,
  StoredSessionLocator,
} from '../../src/storage/records/connection-record-store.ts';
import { Committer } from '../../src/storage/journal/committer.ts';
import { LostSessions } from '../../src/storage/journal/lost-sessions.ts';
import { openStore, type Store } from '../../src/storage/lmdb/open-store.ts';
import { SharedRecords } from '../../src/storage/journal/shared-records.ts';
import { StoredEvents } from '../../src/storage/events/stored-events.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { writeHeartbeat, writeEnd, writeLogin, type ConnectionPlace } from './connection-changes.ts';
import { DrivenClock } from './driven-clock.ts';
import { FakeLog } from './fakes.ts';
import { EventJournal, WritableLog } from './test-journal.ts';
import { closedAfter, type Ending } from './temporary-store.ts';

export const sharedNode = 'node-1';

export class SharedMember {
  readonly member: MemberId;
  readonly store: Store;
  readonly clock: Clock;
  readonly log = new FakeLog();
  readonly journal: EventJournal;
  readonly events: WritableLog;
  readonly sleep: ConnectionRecordStore;
  readonly signal: ConnectionRecordStore;
  readonly locator: StoredSessionLocator;
  readonly #lost: LostSessions;
  /** Slots, events and growth, in the order in which they were told. */
  readonly told: string[] = [];
  readonly taken: SlotClaimed[] = [];
  readonly followed: LoggedEvent[] = [];
  unfollow: () => void = () => undefined;

  constructor(store: Store, name: string, clock: Clock = new DrivenClock()) {
    this.member = `${sharedNode}/${name}@1` as MemberId;
    this.store = store;
    this.clock = clock;
    const { state } = store;
    const grew = (): void => void this.told.push('grew');
    const records = new SharedRecords(state, { member: this.member, node: sharedNode, grew });
    const committer = new Committer(state.environment, records);
    const productOf = (): ProductId => 'doorbell' as ProductId;
    this.journal = new EventJournal({ clock, committer, productOf, backlogMax: 1_000_000 });
    this.events = new WritableLog(new StoredEvents(state), this.journal, this.log, () => committer.look());
    this.sleep = new ConnectionRecordStore(state, 'sleep', this.journal, this.member);
    this.signal = new ConnectionRecordStore(state, 'signal', this.journal, this.member);
    this.locator = new StoredSessionLocator(state);
    this.#lost = new LostSessions(state, this.journal, sharedNode);
    this.#follow(records);
  }

  login(kind: ConnectionKind, deviceId: DeviceId, name: string, atMs = 1000): void {
    writeLogin(this.#place(kind, deviceId), name as SessionId, atMs);
  }

  /** `heartbeatAt`: Unix seconds. */
  end(
    kind: ConnectionKind,
    deviceId: DeviceId,
    name: string,
    atMs = 2000,
    heartbeatAt: number | null = null,
  ): void {
    writeEnd(this.#place(kind, deviceId), name as SessionId, atMs, heartbeatAt);
  }

  heartbeat(kind: ConnectionKind, deviceId: DeviceId, name: string, heartbeatAt: number): void {
    writeHeartbeat(this.#place(kind, deviceId), name as SessionId, heartbeatAt);
  }

  /** Of both kinds: how many. */
  async closeLost(isGone: (member: MemberId) => boolean, atMs: number): Promise<number> {
    const sleep = await this.#lost.close('sleep', isGone, atMs);
    return sleep + (await this.#lost.close('signal', isGone, atMs));
  }

  committed(): Promise<void> {
    return this.journal.allCommitted();
  }

  #place(kind: ConnectionKind, deviceId: DeviceId): ConnectionPlace {
    return { records: this[kind], kind, deviceId, node: sharedNode };
  }

  #follow(records: SharedRecords): void {
    records.follow({
      taken: (slot) => {
        this.taken.push(slot);
        this.told.push(`taken ${slot.session} ${slot.epoch}`);
      },
      lost: ({ session }) => void this.told.push(`lost ${session}`),
    });
    this.unfollow = this.events.follow((events) => {
      this.followed.push(...events);
      for (const { sequence, seq } of events) this.told.push(`event ${sequence} ${seq}`);
    });
  }
}

/** So many of them on one directory, each with an environment of its own, as processes have. */
export function openSharedMembers(t: Ending, directory: string, names: readonly string[]): SharedMember[] {
  return names
    .map((name) => ({ name, store: closedAfter(t, openStore(directory, { lock: 'held' })) }))
    .map(({ name, store }) => new SharedMember(store, name));
}
