/** Several nodes, each with a store of its own, and what they have in common: in memory or over NATS. */
import { EventEmitter, once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import type { JoinGround, NodeGround } from './node-ground.ts';
import { type RecordsSite, SiteMember, reached, recordsDeps, recordsSettings } from './records-site.ts';
import { type Ending, lastFirst, temporaryStore } from './temporary-store.ts';
import type { Cancel } from '../../src/lib/clock.ts';
import { SystemClock } from '../../src/lib/system-clock.ts';
import { CallRepository } from '../../src/cluster/records/call-repository.ts';
import { EventMirror } from '../../src/cluster/events/event-mirror.ts';
import { EventStream } from '../../src/cluster/events/event-stream.ts';
import type { HeartbeatStore } from '../../src/cluster/ownership/heartbeat-reader.ts';
import { Ownership } from '../../src/cluster/ownership/ownership.ts';
import { ClaimedRecords, PendingClaims } from '../../src/cluster/ownership/pending-claims.ts';
import { WakeupRepository } from '../../src/cluster/records/wakeup-repository.ts';
import type { MemberId } from '../../src/model/cluster.ts';
import type { ProductId } from '../../src/model/ids.ts';
import { heartbeatsParts } from '../../src/model/limits.ts';
import type { ConnectionRecords } from '../../src/core/ports/records.ts';
import type { Outbox } from '../../src/core/ports/outbox.ts';
import type { SlotLost } from '../../src/core/ports/session-locator.ts';
import { openRecords, type Records } from '../../src/server/bootstrap/records.ts';
import { MirroredLogStore } from '../../src/storage/events/mirrored-log.ts';
import { OutboxRecords } from '../../src/storage/journal/outbox-records.ts';
import { OutboxStore } from '../../src/storage/journal/outbox-store.ts';
import type { Store } from '../../src/storage/lmdb/open-store.ts';
import { FakeLog } from './fakes.ts';

const clock = new SystemClock();
const product = 'doorbell' as ProductId;

/** What is done again and again is done when a test says so. */
class TurnedClock extends SystemClock {
  readonly #runs = new Set<() => void>();

  override every(_intervalMs: number, run: () => void): Cancel {
    this.#runs.add(run);
    return () => void this.#runs.delete(run);
  }

  turn(): void {
    for (const run of this.#runs) run();
  }
}

type Displace = (member: MemberId, slot: SlotLost) => void;

class SiteNode {
  readonly member: SiteMember;
  readonly store: Store;
  readonly records: Records;
  readonly stream: EventStream;
  readonly wakeups: WakeupRepository;
  readonly calls: CallRepository;
  /** Of sleep, as those have them who wait for logins. */
  readonly claimed: ConnectionRecords;
  readonly #ground: NodeGround;
  readonly #outbox: OutboxStore;
  readonly #mirror: EventMirror;
  readonly #ownership: Ownership;
  readonly #clock = new TurnedClock();
  readonly #news = new EventEmitter();

  static async start(t: Ending, join: JoinGround, name: string, supersede: Displace): Promise<SiteNode> {
    const ending = lastFirst(t);
    const node = new SiteNode(temporaryStore(ending), await join(ending), name, supersede);
    ending.after(() => node.#stop());
    node.#mirror.start();
    node.#ownership.start();
    return node;
  }

  private constructor(store: Store, ground: NodeGround, node: string, supersede: Displace) {
    const id = `${node}/0@1` as MemberId;
    const log = new FakeLog();
    const { state } = store;
    this.store = store;
    this.#ground = ground;
    this.#outbox = new OutboxStore(state, log);
    this.records = openRecords(state, recordsSettings, recordsDeps(new OutboxRecords(this.#outbox, id)));
    const { events } = this.records;
    const batch = (write: () => void): Promise<void> => state.environment.transaction(write);
    const mirror = new MirroredLogStore(state, { events, batch });
    this.wakeups = new WakeupRepository({ kv: ground.wakeups, clock, log });
    this.calls = new CallRepository({ kv: ground.calls, clock, log });
    this.stream = new EventStream({
      clock,
      events: ground.events,
      seqOf: (deviceId) => mirror.seqOf(deviceId),
      recentOf: (deviceId) => events.recentOf(deviceId),
    });
    this.#mirror = this.#mirrorOf(mirror);
    const claims = new PendingClaims(this.#clock, () => ground.link.isUnavailable);
    this.#ownership = this.#ownershipOf(id, node, claims);
    const { locator } = this.#ownership;
    const sleep = new ClaimedRecords(this.records.sleep, 'sleep', claims);
    this.claimed = sleep;
    const signal = new ClaimedRecords(this.records.signal, 'signal', claims);
    this.member = new SiteMember({ id, node }, { sleep, signal, events, locator, supersede });
  }

  /** Resolves when all that was committed here is where others can see it. */
  async shared(): Promise<void> {
    await this.records.allCommitted();
    while (this.#outbox.length > 0) await once(this.#news, 'forgotten');
  }

  /** Resolves when the log here is as long as the one that all share. */
  async mirrored(): Promise<void> {
    await reached(this.records.events, await this.#ground.eventSource.newest());
  }

  /** Resolves when all its heartbeats are written down. */
  async heard(): Promise<void> {
    for (let part = 0; part < heartbeatsParts; part++) {
      const isWritten = once(this.#news, 'heartbeats');
      this.#clock.turn();
      await isWritten;
      await turn();
    }
  }

  /** As if it had been killed. */
  async vanish(): Promise<void> {
    await this.#mirror.stop();
    await this.#ground.cut();
  }

  failOver(member: MemberId): Promise<void> {
    return this.#ownership.failOver(member);
  }

  #mirrorOf(mirror: MirroredLogStore): EventMirror {
    return new EventMirror({
      source: this.#ground.eventSource,
      mirror,
      clock,
      log: new FakeLog(),
      saw: (event) => {
        this.stream.saw(event);
        this.#ownership.noticed(event);
      },
    });
  }

  #ownershipOf(id: MemberId, node: string, claims: PendingClaims): Ownership {
    return new Ownership({
      ...this.#ground,
      heartbeats: this.#watchedHeartbeats(),
      self: id,
      node,
      claims,
      clock: this.#clock,
      log: new FakeLog(),
      random: () => 0.5,
      outbox: this.#watchedOutbox(),
      sessions: {
        find: (deviceId, connection) => {
          const session = this.member.openSession(connection, deviceId);
          return session && { session, heartbeatAt: this.member.heartbeatAt(connection, deviceId) };
        },
      },
      follower: { taken: (slot) => this.member.taken(slot), lost: (slot) => this.member.lost(slot) },
      productOf: () => product,
      publish: (event) => this.stream.publish(event),
      putWakeup: (item) => this.wakeups.put(item),
      calls: {
        members: { isAlive: () => true, isDraining: () => false },
        rows: this.calls,
        directory: { sessions: () => [].values(), sessionsOf: () => [], end: () => false },
        isEnded: async () => false,
      },
    });
  }

  #watchedOutbox(): Outbox {
    const outbox = this.#outbox;
    return {
      get length() {
        return outbox.length;
      },
      read: (after, limit) => outbox.read(after, limit),
      follow: (told) => outbox.follow(told),
      forget: async (places) => {
        await outbox.forget(places);
        this.#news.emit('forgotten');
      },
    };
  }

  #watchedHeartbeats(): HeartbeatStore {
    const { heartbeats } = this.#ground;
    return {
      find: (key) => heartbeats.find(key),
      eraseAll: (prefix) => heartbeats.eraseAll(prefix),
      put: async (key, value) => {
        const revision = await heartbeats.put(key, value);
        this.#news.emit('heartbeats');
        return revision;
      },
    };
  }

  /** In order, where it can: what is under way reads the store. */
  async #stop(): Promise<void> {
    await this.#ownership.stop(this.#ground.link.isUnavailable ? 0 : 10_000);
    await this.#mirror.stop();
    await this.records.close();
  }
}

export class NodesSite implements RecordsSite {
  readonly nodes: SiteNode[] = [];
  readonly #lost = new Set<SiteMember>();

  static async start(t: Ending, join: JoinGround, count: number): Promise<NodesSite> {
    const site = new NodesSite();
    const supersede: Displace = (member, slot) =>
      site.#living.find((one) => one.member.id === member)?.member.lost(slot);
    const names = Array.from({ length: count }, (_, number) => `node-${number + 1}`);
    site.nodes.push(...(await Promise.all(names.map((name) => SiteNode.start(t, join, name, supersede)))));
    return site;
  }

  get members(): readonly SiteMember[] {
    return this.nodes.map(({ member }) => member);
  }

  async settled(): Promise<void> {
    await Promise.all(this.#living.map((node) => node.shared()));
    await Promise.all(this.#living.map((node) => node.mirrored()));
  }

  async heard(): Promise<void> {
    await this.settled();
    await Promise.all(this.#living.map((node) => node.heard()));
  }

  async lose(lost: SiteMember): Promise<void> {
    this.#lost.add(lost);
    await this.nodes.find(({ member }) => member === lost)?.vanish();
    await Promise.all(this.#living.map((node) => node.failOver(lost.id)));
    await this.settled();
  }

  get #living(): readonly SiteNode[] {
    return this.nodes.filter(({ member }) => !this.#lost.has(member));
  }
}
