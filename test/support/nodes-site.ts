/** Two nodes, each with a store of its own, and their shared state, in memory or over NATS. */
import { EventEmitter, once } from 'node:events';
import type { JoinGround, NodeGround } from './node-ground.ts';
import { reached, recordsDeps, recordsSettings } from './records-site.ts';
import { type Ending, lastFirst, temporaryStore } from './temporary-store.ts';
import type { Cancel } from '../../src/lib/clock.ts';
import { SystemClock } from '../../src/lib/system-clock.ts';
import { CallRepository } from '../../src/cluster/records/call-repository.ts';
import { EventMirror } from '../../src/cluster/events/event-mirror.ts';
import { EventStream } from '../../src/cluster/events/event-stream.ts';
import { Ownership } from '../../src/cluster/ownership/ownership.ts';
import { ClaimedRecords, PendingClaims } from '../../src/cluster/ownership/pending-claims.ts';
import { WakeupRepository } from '../../src/cluster/records/wakeup-repository.ts';
import type { MemberId } from '../../src/model/cluster.ts';
import type { ProductId } from '../../src/model/ids.ts';
import type { ConnectionRecords } from '../../src/core/ports/records.ts';
import type { Outbox } from '../../src/core/ports/outbox.ts';
import { openRecords, type Records } from '../../src/server/bootstrap/records.ts';
import { MirroredLogStore } from '../../src/storage/events/mirrored-log.ts';
import { OutboxRecords } from '../../src/storage/journal/outbox-records.ts';
import { OutboxStore } from '../../src/storage/journal/outbox-store.ts';
import type { Store } from '../../src/storage/lmdb/open-store.ts';
import { FakeLog } from './fakes.ts';

/** Periodic timers never fire: no session here has a connection. */
class StillClock extends SystemClock {
  override every(): Cancel {
    return () => undefined;
  }
}

const clock = new StillClock();
const product = 'doorbell' as ProductId;

class SiteNode {
  readonly store: Store;
  readonly records: Records;
  readonly stream: EventStream;
  readonly wakeups: WakeupRepository;
  readonly calls: CallRepository;
  /** Sleep records that resolve when the login has been claimed. */
  readonly claimed: ConnectionRecords;
  readonly #ground: NodeGround;
  readonly #outbox: OutboxStore;
  readonly #mirror: EventMirror;
  readonly #ownership: Ownership;
  readonly #news = new EventEmitter();

  static async start(t: Ending, join: JoinGround, name: string): Promise<SiteNode> {
    const ending = lastFirst(t);
    const node = new SiteNode(temporaryStore(ending), await join(ending), name);
    ending.after(() => node.#stop());
    node.#mirror.start();
    node.#ownership.start();
    return node;
  }

  private constructor(store: Store, ground: NodeGround, node: string) {
    const id = `${node}@1` as MemberId;
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
    const claims = new PendingClaims(clock, () => ground.link.isUnavailable);
    this.#ownership = this.#ownershipOf(id, node, claims);
    this.claimed = new ClaimedRecords(this.records.sleep, 'sleep', claims);
  }

  /** Resolves when everything committed here is visible to others. */
  async shared(): Promise<void> {
    await this.records.allCommitted();
    while (this.#outbox.length > 0) await once(this.#news, 'forgotten');
  }

  /** Resolves when the local log is as long as the shared one. */
  async mirrored(): Promise<void> {
    await reached(this.records.events, await this.#ground.eventSource.newest());
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
      self: id,
      node,
      claims,
      clock,
      log: new FakeLog(),
      random: () => 0.5,
      outbox: this.#watchedOutbox(),
      sessions: { find: () => null },
      follower: { claimed: () => undefined, lost: () => undefined },
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
      follow: (notify) => outbox.follow(notify),
      forget: async (places) => {
        await outbox.forget(places);
        this.#news.emit('forgotten');
      },
    };
  }

  /** Stops parts in order, since pending work reads the store. */
  async #stop(): Promise<void> {
    await this.#ownership.stop(this.#ground.link.isUnavailable ? 0 : 10_000);
    await this.#mirror.stop();
    await this.records.close();
  }
}

export class NodesSite {
  readonly one: SiteNode;
  readonly other: SiteNode;

  static async start(t: Ending, join: JoinGround): Promise<NodesSite> {
    const [one, other] = await Promise.all([
      SiteNode.start(t, join, 'node-1'),
      SiteNode.start(t, join, 'node-2'),
    ]);
    return new NodesSite(one, other);
  }

  private constructor(one: SiteNode, other: SiteNode) {
    this.one = one;
    this.other = other;
  }

  async untilShared(): Promise<void> {
    await Promise.all([this.one.shared(), this.other.shared()]);
    await Promise.all([this.one.mirrored(), this.other.mirrored()]);
  }
}
