/**
 * Nodes that share devices over NATS. Everything except the ownership itself is a fake: sessions that log in and end, an outbox
 * in memory that survives a crash, the shared log. The clock moves when a test moves it.
 */
import { setImmediate as turn } from 'node:timers/promises';
import type { Cancel, Clock } from '../../src/lib/clock.ts';
import type { LiveSessions } from '../../src/cluster/ownership/own-slots.ts';
import type { SessionHeartbeat } from '../../src/protocol/cluster/member-values.ts';
import { Ownership } from '../../src/cluster/ownership/ownership.ts';
import { PendingClaims, ClaimedRecords } from '../../src/cluster/ownership/pending-claims.ts';
import type { KvStore } from '../../src/cluster/nats/kv-store.ts';
import { neverShared } from '../../src/model/state/shared-connection.ts';
import type { ConnectionKind, DeviceRow, MemberId, SessionName } from '../../src/model/cluster.ts';
import { neverConnected, type ConnectionRecord } from '../../src/model/connectivity.ts';
import type { LoggedEvent } from '../../src/model/events.ts';
import type { DeviceId, EventId, ProductId, SessionId } from '../../src/model/ids.ts';
import { sessionEvent, type SessionTransition } from '../../src/model/state/session-event.ts';
import type { ConnectionRecords } from '../../src/core/ports/records.ts';
import type { Outbox, OutboxEvent, OutboxItem, PlacedItem } from '../../src/core/ports/outbox.ts';
import type { SlotFollower, SlotClaimed } from '../../src/core/ports/session-locator.ts';
import { decodeDeviceRow } from '../../src/protocol/cluster/stored-values.ts';
import { deviceHash } from '../../src/cluster/nats/nats-names.ts';
import { endOf, loginOf } from './connection-changes.ts';
import { DrivenClock } from './driven-clock.ts';
import { MemoryBucket, type MemoryKvStore } from './memory-kv-store.ts';
import { FakeLog, FakeRecords } from './fakes.ts';

export const device = 'TESTDEVICE01' as DeviceId;

/** The shared log: an id is published once, a device's sequence has no gap. */
export class SharedLog {
  readonly events: LoggedEvent[] = [];
  readonly #ids = new Set<EventId>();
  readonly #seqs = new Map<DeviceId, number>();
  readonly #followers = new Set<(event: LoggedEvent) => void>();

  append({ id, draft, productId }: OutboxEvent): void {
    if (this.#ids.has(id)) return;
    this.#ids.add(id);
    const seq = (this.#seqs.get(draft.deviceId) ?? 0) + 1;
    this.#seqs.set(draft.deviceId, seq);
    const logged: LoggedEvent = { ...draft, id, productId, seq, sequence: this.events.length + 1 };
    this.events.push(logged);
    for (const notify of this.#followers) notify(logged);
  }

  follow(notify: (event: LoggedEvent) => void): void {
    this.#followers.add(notify);
  }

  /** Events in their order, such as `device.sleep.login 1 A replaced`. */
  get words(): string[] {
    return this.events.map(wordsOf);
  }
}

function wordsOf({ type, epoch, data }: LoggedEvent): string {
  const words = [type, epoch, 'node' in data ? data.node : ''];
  if ('replaced' in data && data.replaced) words.push('replaced');
  if ('recovered' in data) words.push('recovered');
  if ('reason' in data) words.push(data.reason);
  return words.join(' ').trim();
}

export class FakeOutbox implements Outbox {
  readonly items = new Map<number, OutboxItem>();
  failures = 0;
  reads = 0;
  forgets = 0;
  #place = 0;
  #followers = new Set<() => void>();

  get length(): number {
    return this.items.size;
  }

  put(item: OutboxItem): void {
    this.items.set((this.#place += 1), item);
    for (const notify of this.#followers) notify();
  }

  read(after: number, limit: number): PlacedItem[] {
    this.reads += 1;
    const placed: PlacedItem[] = [];
    for (let place = after + 1; place <= this.#place && placed.length < limit; place++) {
      const item = this.items.get(place);
      if (item !== undefined) placed.push({ place, item });
    }
    return placed;
  }

  follow(notify: () => void): Cancel {
    this.#followers.add(notify);
    return () => this.#followers.delete(notify);
  }

  forget(places: readonly number[]): Promise<void> {
    if (this.failures > 0) {
      this.failures -= 1;
      return Promise.reject(new Error('disk full'));
    }
    this.forgets += 1;
    for (const place of places) this.items.delete(place);
    return Promise.resolve();
  }
}

export class FakeLink {
  isUnavailable = false;
  readonly #followers = new Set<(isUnavailable: boolean) => void>();

  onChange(notify: (isUnavailable: boolean) => void): Cancel {
    this.#followers.add(notify);
    return () => this.#followers.delete(notify);
  }

  ready(): Promise<void> {
    return Promise.resolve();
  }

  turn(isUnavailable: boolean): void {
    if (isUnavailable === this.isUnavailable) return;
    this.isUnavailable = isUnavailable;
    for (const notify of this.#followers) notify(isUnavailable);
  }
}

class CommittedRecords extends FakeRecords {
  readonly #written: (deviceId: DeviceId, transition: SessionTransition) => void;

  constructor(written: (deviceId: DeviceId, transition: SessionTransition) => void) {
    super();
    this.#written = written;
  }

  override write(deviceId: DeviceId, record: ConnectionRecord, transition: SessionTransition | null): void {
    super.write(deviceId, record, transition);
    if (transition !== null) this.#written(deviceId, transition);
  }
}

type Held = SessionHeartbeat & { readonly loginAtMs: number; heartbeatAt: number };

export interface NodeDeps {
  readonly clock: Clock;
  readonly link: Pick<FakeLink, 'isUnavailable' | 'onChange' | 'ready'>;
  readonly rows: KvStore;
  readonly heartbeats: KvStore;
  readonly publish: (event: OutboxEvent) => Promise<void>;
  /** Sends a notice to another member; it may be lost. */
  readonly supersede: (member: MemberId, deviceId: DeviceId, session: SessionId) => void;
}

/** One life of a node, from its start to its crash. */
export class OwningNode implements LiveSessions, SlotFollower {
  readonly name: string;
  readonly member: MemberId;
  readonly outbox: FakeOutbox;
  readonly log = new FakeLog();
  readonly ownership: Ownership;
  readonly records: { readonly [Kind in ConnectionKind]: ConnectionRecords };
  readonly takings: SlotClaimed[] = [];
  readonly losses: SessionName[] = [];
  readonly wakeups: OutboxItem[] = [];
  readonly #deps: NodeDeps;
  readonly #claims: PendingClaims;
  readonly #live = new Map<string, Held>();
  isDead = false;

  constructor(name: string, life: number, outbox: FakeOutbox, deps: NodeDeps) {
    this.name = name;
    this.member = `${name}/0@${life}` as MemberId;
    this.outbox = outbox;
    this.#deps = deps;
    const keep = (item: OutboxItem): Promise<true> => {
      this.wakeups.push(item);
      return Promise.resolve(true);
    };
    this.#claims = new PendingClaims(deps.clock, () => deps.link.isUnavailable);
    this.ownership = new Ownership({
      ...deps,
      claims: this.#claims,
      self: this.member,
      node: name,
      log: this.log,
      random: () => 0.5,
      outbox,
      sessions: this,
      follower: this,
      productOf: () => 'doorbell' as ProductId,
      putWakeup: async (item) => void (await keep(item)),
      calls: {
        members: { isAlive: () => true, isDraining: () => false },
        rows: { find: async () => null, put: async () => true, all: async function* () {} },
        directory: { sessions: () => [].values(), sessionsOf: () => [], end: () => false },
        isEnded: async () => false,
      },
    });
    this.records = { sleep: this.#recordsOf('sleep'), signal: this.#recordsOf('signal') };
  }

  find(deviceId: DeviceId, connection: ConnectionKind): Held | null {
    return this.#live.get(`${connection} ${deviceId}`) ?? null;
  }

  claimed(slot: SlotClaimed): void {
    if (this.isDead) return;
    this.takings.push(slot);
    for (const { member, session } of slot.superseded)
      if (member !== this.member) this.#deps.supersede(member, slot.deviceId, session);
  }

  lost(slot: SessionName): void {
    this.losses.push(slot);
    this.superseded(slot.deviceId, slot.session);
  }

  superseded(deviceId: DeviceId, session: SessionId): void {
    for (const connection of ['sleep', 'signal'] as const)
      if (this.find(deviceId, connection)?.session === session)
        this.#live.delete(`${connection} ${deviceId}`);
  }

  login(deviceId: DeviceId, connection: ConnectionKind, session: string): SessionId {
    const replaced = this.find(deviceId, connection) !== null;
    const id = session as SessionId;
    const atMs = this.#deps.clock.wallMs();
    this.#live.set(`${connection} ${deviceId}`, { session: id, loginAtMs: atMs, heartbeatAt: 0 });
    const record = { ...neverConnected, epoch: 1, openSession: id };
    const transition = loginOf({ connection, session: id, atMs, node: this.name, replaced });
    this.records[connection].write(deviceId, record, transition);
    return id;
  }

  end(deviceId: DeviceId, connection: ConnectionKind, reason: 'reset' | 'node_lost' = 'reset'): void {
    const live = this.find(deviceId, connection);
    if (live === null) return;
    this.#live.delete(`${connection} ${deviceId}`);
    const atMs = this.#deps.clock.wallMs();
    const record = { ...neverConnected, epoch: 1 };
    const transition = endOf({ connection, session: live.session, atMs, node: this.name, reason });
    this.records[connection].write(deviceId, record, transition);
  }

  recordHeartbeat(deviceId: DeviceId, connection: ConnectionKind, heartbeatAt: number): void {
    const live = this.find(deviceId, connection);
    if (live !== null) live.heartbeatAt = heartbeatAt;
  }

  /** Ends the sessions that the store has as open, as a start after a crash does. */
  closeOpenOf(earlier: OwningNode): void {
    for (const [key, live] of earlier.#live) {
      const [connection, deviceId] = key.split(' ') as [ConnectionKind, DeviceId];
      this.#live.set(key, live);
      this.end(deviceId, connection, 'node_lost');
    }
  }

  sessions(): SessionId[] {
    return Array.from(this.#live.values(), ({ session }) => session);
  }

  #recordsOf(connection: ConnectionKind): ConnectionRecords {
    const records = new CommittedRecords((deviceId, transition) => this.#commit(deviceId, transition));
    return new ClaimedRecords(records, connection, this.#claims);
  }

  #commit(deviceId: DeviceId, transition: SessionTransition): void {
    const { kind, connection, session } = transition;
    const draft = sessionEvent(deviceId, transition);
    const id = `${draft.type} ${session}` as EventId;
    const event = { id, draft, productId: null };
    const { member, name: node } = this;
    this.outbox.put({ kind, connection, deviceId, session, member, node, heartbeatAt: 0, event });
  }
}

/** Resolves when everything that needs no time is done. */
export async function untilIdle(): Promise<void> {
  for (let turns = 0; turns < 3; turns++) await turn();
}

interface Way {
  readonly link: FakeLink;
  readonly rows: MemoryKvStore;
  readonly heartbeats: MemoryKvStore;
  /** Number of events that are stored and whose answers are lost. */
  lostEvents: number;
  publishes: boolean;
}

export class OwnershipScene {
  readonly clock = new DrivenClock();
  readonly rows = new MemoryBucket();
  readonly heartbeats = new MemoryBucket();
  readonly log = new SharedLog();
  readonly #nodes = new Map<string, OwningNode>();
  readonly #ways = new Map<string, Way>();
  #lives = 0;

  start(name: string, outbox = new FakeOutbox()): OwningNode {
    const way: Way = {
      link: new FakeLink(),
      rows: this.rows.open(),
      heartbeats: this.heartbeats.open(),
      lostEvents: 0,
      publishes: true,
    };
    const publish = (event: OutboxEvent): Promise<void> => this.#publish(way, event);
    const supersede: NodeDeps['supersede'] = (member, deviceId, session) => {
      const node = this.#nodes.get(member.slice(0, member.indexOf('/')));
      if (node?.member === member && !this.way(node).link.isUnavailable) node.superseded(deviceId, session);
    };
    this.#lives += 1;
    const deps = { clock: this.clock, ...way, publish, supersede };
    const node = new OwningNode(name, this.#lives, outbox, deps);
    this.#nodes.set(name, node);
    this.#ways.set(node.member, way);
    this.log.follow((event) => {
      if (!way.link.isUnavailable && !node.isDead) node.ownership.noticed(event);
    });
    node.ownership.start();
    return node;
  }

  way(node: OwningNode): Way {
    const way = this.#ways.get(node.member);
    if (way === undefined) throw new Error(`${node.member} has no way to NATS`);
    return way;
  }

  cut(node: OwningNode): void {
    const { link, rows, heartbeats } = this.way(node);
    rows.isUnavailable = true;
    heartbeats.isUnavailable = true;
    link.turn(true);
  }

  mend(node: OwningNode): void {
    const { link, rows, heartbeats } = this.way(node);
    rows.isUnavailable = false;
    rows.requestsLeft = Infinity;
    heartbeats.isUnavailable = false;
    link.turn(false);
  }

  /** `kill -9` and a restart on the same store. */
  restart(node: OwningNode): OwningNode {
    node.isDead = true;
    this.cut(node);
    const outbox = new FakeOutbox();
    for (const item of node.outbox.items.values()) outbox.put(item);
    const next = this.start(node.name, outbox);
    next.closeOpenOf(node);
    return next;
  }

  untilIdle(): Promise<void> {
    return untilIdle();
  }

  async pass(ms: number): Promise<void> {
    await this.untilIdle();
    this.clock.advance(ms);
    await this.untilIdle();
  }

  row(deviceId: DeviceId): DeviceRow {
    const kept = this.rows.entries.get(deviceHash(deviceId));
    if (kept === undefined) return { sleep: neverShared, signal: neverShared };
    const decoded = decodeDeviceRow(kept.value);
    if (!decoded.ok) throw new Error(decoded.error);
    return decoded.value.row;
  }

  slots(deviceId: DeviceId, connection: ConnectionKind): SessionId[] {
    return this.row(deviceId)[connection].slots.map(({ session }) => session);
  }

  #publish(way: Way, event: OutboxEvent): Promise<void> {
    if (way.rows.isUnavailable || !way.publishes) return Promise.reject(new Error('NATS is away'));
    this.log.append(event);
    if (way.lostEvents === 0) return Promise.resolve();
    way.lostEvents -= 1;
    return Promise.reject(new Error('no answer'));
  }
}
