import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MadeEvents } from '../../../../src/cluster/events/made-events.ts';
import { KeyedQueue } from '../../../../src/cluster/nats/keyed-queue.ts';
import { callLocator, CallOwnership } from '../../../../src/cluster/ownership/call-ownership.ts';
import { CallRepository } from '../../../../src/cluster/records/call-repository.ts';
import type { MemberId } from '../../../../src/model/cluster.ts';
import type { EventDraft } from '../../../../src/model/events.ts';
import type { ProductId, SessionId } from '../../../../src/model/ids.ts';
import { fail, succeed, type Result } from '../../../../src/lib/result.ts';
import { claimMsMax } from '../../../../src/model/limits.ts';
import type { PeerFailure } from '../../../../src/model/peer.ts';
import type { PeerAnswer, PeerKind } from '../../../../src/protocol/cluster/peer-message.ts';
import type { OutboxEvent } from '../../../../src/core/ports/outbox.ts';
import { SharedStateUnavailable } from '../../../../src/core/ports/session-locator.ts';
import { CallScene, orderForRoom, wordsOf } from '../../../support/call-scene.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeLog, testApp, testDevice } from '../../../support/fakes.ts';
import { MemoryBucket } from '../../../support/memory-kv-store.ts';
import { SharedLog } from '../../../support/ownership-scene.ts';

/** Nodes with one NATS; time moves when a test moves it. */
class Site {
  readonly clock = new DrivenClock();
  readonly bucket = new MemoryBucket();
  readonly log = new SharedLog();
  readonly dead = new Set<MemberId>();
  readonly draining = new Set<MemberId>();

  start(name: string, life = 1, calls = new CallScene()): Node {
    return new Node(this, `${name}/0@${life}` as MemberId, calls);
  }

  /** Words on the device's calls, in the order of the log. */
  words(sessionId: SessionId): string[] {
    const isIts = ({ data }: EventDraft): boolean => 'session' in data && data.session === sessionId;
    return this.log.events.filter(isIts).map(wordsOf);
  }

  async settle(): Promise<void> {
    for (let turn = 0; turn < 30; turn++) await new Promise(setImmediate);
  }
}

class Node {
  readonly self: MemberId;
  readonly calls: CallScene;
  readonly ownership: CallOwnership;
  readonly kv;
  readonly #site: Site;
  readonly #events: MadeEvents;
  #shared = 0;

  constructor(site: Site, self: MemberId, calls: CallScene) {
    const { clock } = site;
    const log = new FakeLog();
    this.self = self;
    this.calls = calls;
    this.kv = site.bucket.open();
    this.#site = site;
    this.#events = new MadeEvents(clock, () => 'doorbell' as ProductId);
    const isUnavailable = (): boolean => this.kv.isUnavailable;
    this.ownership = new CallOwnership({
      clock,
      log,
      self,
      members: {
        isAlive: (member) => !site.dead.has(member),
        isDraining: (member) => site.draining.has(member),
      },
      rows: new CallRepository({ kv: this.kv, clock, log }),
      directory: calls.directory,
      queue: new KeyedQueue({ clock, log, isUnavailable, waiting: () => 0 }),
      events: this.#events,
      publish: (event) => this.#publish(event),
      isEnded: async (_, session) => site.words(session).some((words) => words.startsWith('ended')),
    });
  }

  issuer(): Promise<string> {
    return Promise.resolve(this.ownership.issuerOf(testDevice));
  }

  locate(): Promise<string> {
    return this.ownership.locate(testDevice);
  }

  /** Claims the device and issues a call, which all see then. */
  async issue(roomId = 'room-1'): Promise<SessionId> {
    assert.equal(await this.issuer(), 'here');
    const sessionId = this.calls.issue(orderForRoom(roomId));
    await this.share();
    return sessionId;
  }

  /** Publishes the changes of its calls from its outbox, `lateMs` after they happened. */
  async share(lateMs = 0): Promise<void> {
    const { clock } = this.#site;
    const { directory, records } = this.calls;
    const drafts = records.events.slice(this.#shared);
    this.#shared = records.events.length;
    const calls = directory.sessionsOf(testDevice).map(({ sessionId, state }) => ({ sessionId, state }));
    for (const draft of drafts.length === 0 ? [null] : drafts) {
      const event =
        draft &&
        this.#events.of({ id: this.#events.id(), draft: { ...draft, atMs: clock.wallMs() - lateMs } });
      const isTold = await this.ownership.share({ kind: 'calls', deviceId: testDevice, calls, event });
      if (isTold && event !== null) await this.#publish(event);
    }
  }

  /** Killed, or cut off for so long that the others call it lost. */
  vanish(): void {
    this.#site.dead.add(this.self);
    this.kv.isUnavailable = true;
  }

  return(): void {
    this.#site.dead.delete(this.self);
    this.kv.isUnavailable = false;
  }

  async #publish(event: OutboxEvent): Promise<void> {
    if (this.kv.isUnavailable) throw new SharedStateUnavailable('NATS is away');
    this.#site.log.append(event);
  }
}

function twoNodes() {
  const site = new Site();
  return { site, a: site.start('A'), b: site.start('B') };
}

test('the node that is asked first issues the calls of a device, also before others see one and when they are over', async () => {
  const { a, b } = twoNodes();
  assert.equal(await a.issuer(), 'here');
  assert.deepEqual([await b.issuer(), await b.locate()], [a.self, a.self]);
  const call = await a.issue();
  assert.equal(await b.issuer(), a.self);
  a.calls.directory.end(call, 'cancelled');
  await a.share();
  assert.equal(await b.issuer(), a.self);
});

test('a node that drains is passed over for a device without a call, and keeps the calls that it has', async () => {
  const { site, a, b } = twoNodes();
  const call = await a.issue();
  site.draining.add(a.self);
  assert.equal(await b.issuer(), a.self);
  a.calls.directory.end(call, 'cancelled');
  await a.share();
  assert.equal(await b.issuer(), 'here');
});

test('another node knows whether the device is in a call, and of a node that is gone that it is not', async () => {
  const { site, a, b } = twoNodes();
  const call = await a.issue();
  assert.equal(await b.ownership.isInCallElsewhere(testDevice), false, 'issued alone is no call');
  a.calls.connectBridge(call);
  await a.share();
  assert.equal(await b.ownership.isInCallElsewhere(testDevice), true);
  site.dead.add(a.self);
  assert.equal(await b.ownership.isInCallElsewhere(testDevice), false);
  b.kv.isUnavailable = true;
  await assert.rejects(b.ownership.isInCallElsewhere(testDevice), { name: 'SharedStateUnavailable' });
});

/** Each request to NATS that the failover makes is the last one of the node that makes it. */
test('a node that dies at any step of a failover leaves no end unpublished: the next one publishes it, once', async () => {
  for (let steps = 0; steps < 8; steps++) {
    const { site, a, b } = twoNodes();
    const c = site.start('C');
    const call = await a.issue();
    a.vanish();
    b.kv.requestsLeft = steps;
    void b.ownership.failOver(a.self).catch(() => undefined);
    await site.settle();
    b.vanish();
    await c.ownership.failOver(a.self);
    await c.ownership.failOver(b.self);
    assert.deepEqual(site.words(call), ['ended lost'], `after ${steps} steps`);
  }
});

test('who asks for the call of a node that is gone is told to ask again, and the call ends', async () => {
  const { site, a, b } = twoNodes();
  const call = await a.issue();
  a.vanish();
  assert.equal(await b.locate(), 'unavailable');
  await site.settle();
  assert.equal(await b.locate(), 'here');
  assert.deepEqual(site.words(call), ['ended lost']);
});

test('a call that is issued for a device of a node that is gone ends the one that it had', async () => {
  const { site, a, b } = twoNodes();
  const lost = await a.issue();
  a.vanish();
  const call = await b.issue();
  await site.settle();
  assert.deepEqual(site.words(lost), ['ended lost']);
  assert.deepEqual(site.words(call), []);
  assert.equal(await a.ownership.locate(testDevice), 'here', 'which it does not know while it is cut off');
});

test('a node that was called lost ends the calls that others have, closes their legs, and says nothing more of them', async () => {
  const { site, a, b } = twoNodes();
  const call = await a.issue();
  a.vanish();
  const leg = a.calls.connectBridge(call);
  await b.ownership.failOver(a.self);
  a.return();
  await a.ownership.reconcile();
  assert.deepEqual(leg.closes, ['ended']);
  await a.share();
  assert.deepEqual(site.words(call), ['ended lost']);
});

test('a call that its node has issued out of sight of the others, and has lost with the device, ends once as well', async () => {
  const { site, a, b } = twoNodes();
  const first = await a.issue('room-1');
  a.vanish();
  const unseen = a.calls.issue(orderForRoom('room-2'));
  await b.ownership.failOver(a.self);
  a.return();
  await a.share();
  await a.share();
  assert.deepEqual(site.words(first), ['ended lost']);
  assert.deepEqual(site.words(unseen), ['ended lost']);
});

test('progress of a call that comes late is not published behind its end, though its node has the device again', async () => {
  const { site, a, b } = twoNodes();
  const call = await a.issue();
  a.vanish();
  a.calls.connectBridge(call);
  await b.ownership.failOver(a.self);
  b.vanish();
  a.return();
  await a.share(claimMsMax + 1);
  assert.deepEqual(site.words(call), ['ended lost']);
});

test('a node that starts again within its lease has its calls, and their row is its new life’s', async () => {
  const { site, a, b } = twoNodes();
  const call = await a.issue();
  a.vanish();
  a.calls.restart();
  const again = site.start('A', 2, a.calls);
  await again.ownership.reconcile();
  await b.ownership.failOver(a.self);
  assert.deepEqual([site.words(call), again.calls.state(call)], [[], 'issued']);
  assert.equal(await b.locate(), again.self);
});

test('while NATS is away a node issues for the devices whose calls it has, and knows no other node', async () => {
  const { a, b } = twoNodes();
  await a.issue();
  for (const { kv } of [a, b]) kv.isUnavailable = true;
  assert.deepEqual([await a.issuer(), await a.locate()], ['here', 'here']);
  assert.deepEqual([await b.issuer(), await b.locate()], ['unavailable', 'unavailable']);
});

test('all other members are asked for a call, and one that does not answer does not have it', async () => {
  const there = { appId: testApp, mediaUrl: 'wss://node-c.example:8083' };
  const answers = new Map<string, Result<PeerAnswer<'find-call'>, PeerFailure>>([
    ['b', fail('unanswered')],
    ['c', succeed(there)],
    ['d', succeed(null)],
  ]);
  const locator = callLocator(new Site().start('a').ownership, {
    self: 'a' as MemberId,
    alive: () => ['a', ...answers.keys()] as MemberId[],
    ask: async <Kind extends PeerKind>(member: MemberId) =>
      answers.get(member) as Result<PeerAnswer<Kind>, PeerFailure>,
  });
  assert.deepEqual(await locator.findElsewhere('session-1' as SessionId), there);
  answers.delete('c');
  assert.equal(await locator.findElsewhere('session-1' as SessionId), null);
});
