/** Webhooks of several nodes: real stores, threads and a receiver, a real nats-server. Any node may go. */
import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { test } from 'node:test';
import { SystemClock } from '../../src/lib/system-clock.ts';
import { StreamedDeviceEvents } from '../../src/cluster/events/device-events.ts';
import { EventMirror } from '../../src/cluster/events/event-mirror.ts';
import { EventStream } from '../../src/cluster/events/event-stream.ts';
import { JetStreamSource } from '../../src/cluster/events/jetstream-source.ts';
import type { NatsLink } from '../../src/cluster/nats/nats-link.ts';
import { NatsKvStore } from '../../src/cluster/nats/nats-kv-store.ts';
import { NatsDeliveryStore } from '../../src/cluster/records/nats-delivery-store.ts';
import { WebhookLease } from '../../src/cluster/membership/webhook-lease.ts';
import type { MemberId } from '../../src/model/cluster.ts';
import {
  generateEventId,
  type ApplicationId,
  type DeviceId,
  type ProductId,
  type SessionId,
} from '../../src/model/ids.ts';
import type { AdminReply } from '../../src/gateways/ops/admin-route.ts';
import { WebhookLeaderElection } from '../../src/server/bootstrap/webhook-leader-election.ts';
import { MirroredLogStore } from '../../src/storage/events/mirrored-log.ts';
import { RegistryStore } from '../../src/storage/registry/registry-store.ts';
import { RegistryWriter } from '../../src/storage/registry/registry-write.ts';
import { askRoute } from '../support/ask-route.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import { FakeTelemetry } from '../support/fakes.ts';
import { startNats } from '../support/nats-server.ts';
import { linkTo, memberId, WatchedLog } from '../support/nats-scene.ts';
import { lastFirst, temporaryStore, type Ending } from '../support/temporary-store.ts';
import { openJournal } from '../support/test-journal.ts';
import { ok, receiverSecret, status, WebhookReceiver, type Received } from '../support/webhook-receiver.ts';

const appId = '2818153' as ApplicationId;
const productId = 'doorbell' as ProductId;
const devices = ['device-1', 'device-2', 'device-3'];

class Cluster {
  readonly dead = new Set<MemberId>();
  /** Of the leases. */
  readonly clock = new DrivenClock();
  readonly receiver: WebhookReceiver;
  readonly #t: Ending;
  readonly #url: string;
  readonly #stream: EventStream;
  readonly #kv: NatsKvStore;
  #made = 0;

  static async start(test: Ending): Promise<Cluster> {
    const t = lastFirst(test);
    const { url } = await startNats(t);
    const link = await linkTo(t, url);
    await link.ready();
    return new Cluster(t, url, link, await WebhookReceiver.start(t));
  }

  private constructor(t: Ending, url: string, link: NatsLink, receiver: WebhookReceiver) {
    this.#t = t;
    this.#url = url;
    this.receiver = receiver;
    this.#kv = new NatsKvStore(link, 'hooks', new SystemClock());
    const events = new StreamedDeviceEvents(link);
    this.#stream = new EventStream({
      clock: new SystemClock(),
      events,
      seqOf: () => 0,
      recentOf: () => [],
    });
  }

  async node(name: string): Promise<Node> {
    const link = await linkTo(this.#t, this.#url);
    await link.ready();
    return Node.start(this.#t, this, link, memberId(name), this.receiver.url);
  }

  /** One event of each device, `count` times. */
  async happen(count: number): Promise<void> {
    for (let i = 0; i < count; i++)
      await Promise.all(devices.map((device) => this.#stream.publish(this.#event(device))));
  }

  /** Time passes for the leases until it is so, no faster than NATS answers. */
  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      this.clock.advance(200);
      for (let asked = 0; asked < 3; asked++) await this.#kv.find('nothing');
    }
  }

  /** What each device's events were when they came the first time. */
  firstSeqs(device: string): unknown[] {
    const { received } = this.receiver;
    const own = received.flatMap(({ event }) => (event?.['device_id'] === device ? event['seq'] : []));
    return [...new Set(own)];
  }

  #event(device: string) {
    const atMs = Date.now();
    const data = { session: 'session' as SessionId, node: 'node', replaced: false };
    const draft = { type: 'device.sleep.login', data, deviceId: device as DeviceId, atMs, epoch: 1 } as const;
    return { id: generateEventId(atMs, (this.#made += 1)), draft, productId };
  }
}

class Node {
  readonly log = new WatchedLog();
  readonly webhooks: WebhookLeaderElection;
  readonly #writer: RegistryWriter;
  lease: WebhookLease | null = null;

  static async start(
    t: Ending,
    cluster: Cluster,
    link: NatsLink,
    self: MemberId,
    url: string,
  ): Promise<Node> {
    const node = new Node(t, cluster, link, self);
    await node.#writer.put('application', { appId, name: 'test' });
    await node.#writer.put('product', { productId, appIds: [appId] });
    await node.#writer.put('webhook', { appId, url, secret: receiverSecret, types: ['*'] });
    t.after(() => node.webhooks.stop());
    node.webhooks.start();
    return node;
  }

  private constructor(t: Ending, cluster: Cluster, link: NatsLink, self: MemberId) {
    const store = temporaryStore(t);
    const { log } = this;
    const clock = new SystemClock();
    const { events } = openJournal(store);
    const mirrored = new MirroredLogStore(store.state, {
      events,
      batch: (write) => store.state.environment.transaction(write),
    });
    const mirror = new EventMirror({
      source: new JetStreamSource(link, link.names.eventStream),
      mirror: mirrored,
      clock,
      log,
      saw: () => undefined,
    });
    t.after(() => mirror.stop());
    mirror.start();
    this.#writer = new RegistryWriter(store.registry, new RegistryStore(store.registry));
    const kv = new NatsKvStore(link, 'hooks', clock);
    this.webhooks = new WebhookLeaderElection({
      clock,
      log,
      telemetry: new FakeTelemetry(),
      onFault: () => undefined,
      isCutOff: () => false,
      events,
      dataDirectory: store.directory,
      allowLocal: true,
      deliveries: new NatsDeliveryStore({ kv, log, mayWrite: () => this.lease?.isHeld ?? false }),
      turns: (told) => {
        const isAlive = (member: MemberId): boolean => !cluster.dead.has(member);
        this.lease = new WebhookLease({ kv, clock: cluster.clock, log, self, isAlive, ...told });
        return this.lease;
      },
    });
  }

  get hasBegun(): boolean {
    return this.log.lines.some(({ message }) => /delivers the webhooks now/.test(message));
  }

  ask(method: 'GET' | 'POST', path: string, body?: object): Promise<AdminReply> {
    return askRoute(this.webhooks.routes, method, path, body);
  }
}

const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, at) => from + at);

test('a node that delivers is called gone in the midst of it: another goes on, each event comes, first ones in order', async (t) => {
  const cluster = await Cluster.start(t);
  const one = await cluster.node('one');
  await one.log.said(/delivers the webhooks now/);
  const other = await cluster.node('other');
  await cluster.happen(5);
  await cluster.receiver.until(10);
  const happened = cluster.happen(60);
  await cluster.receiver.until(60);
  cluster.dead.add(memberId('one'));
  await cluster.until(() => other.hasBegun);
  await cluster.until(() => one.lease?.holder === memberId('other'));
  await happened;
  await cluster.happen(5);
  await cluster.until(() => devices.every((device) => cluster.firstSeqs(device).length >= 70));
  for (const device of devices) assert.deepEqual(cluster.firstSeqs(device), range(1, 70));
  cluster.dead.clear();
  await other.webhooks.stop();
  await cluster.until(() => one.lease?.isHeld ?? false);
  await cluster.happen(5);
  await cluster.until(() => devices.every((device) => cluster.firstSeqs(device).length >= 75));
  for (const device of devices) assert.deepEqual(cluster.firstSeqs(device), range(1, 75));
});

test('a node that stops in order hands over: each event comes once', async (t) => {
  const cluster = await Cluster.start(t);
  const one = await cluster.node('one');
  await one.log.said(/delivers the webhooks now/);
  const other = await cluster.node('other');
  await cluster.happen(20);
  await cluster.receiver.until(20);
  await one.webhooks.stop();
  await cluster.until(() => other.lease?.isHeld ?? false);
  await other.log.said(/delivers the webhooks now/);
  await cluster.happen(20);
  const received = await cluster.receiver.until(120);
  for (const device of devices) assert.deepEqual(seqsOf(received, device), range(1, 40));
});

test('what has failed at one node is tried again by the next, and operators are told where to ask', async (t) => {
  const cluster = await Cluster.start(t);
  const one = await cluster.node('one');
  await one.log.said(/delivers the webhooks now/);
  const other = await cluster.node('other');
  cluster.receiver.answer(status(500));
  await cluster.happen(1);
  await cluster.receiver.until(3);
  while (other.lease?.holder !== memberId('one')) await setImmediate();
  const refused = await other.ask('GET', '/v1/webhook/list');
  assert.deepEqual(refused, {
    status: 503,
    body: { error: 'the webhooks are delivered by the node one: ask there' },
  });
  await one.webhooks.stop();
  cluster.receiver.answer(ok);
  await cluster.until(() => other.lease?.isHeld ?? false);
  await other.log.said(/delivers the webhooks now/);
  const listed = await other.ask('GET', '/v1/webhook/list');
  const [webhook] = (listed.body as { webhooks: Record<string, unknown>[] }).webhooks;
  assert.equal(webhook?.['failed'], 3);
  assert.match(JSON.stringify(webhook?.['last_failure']), /500/);
  const received = await cluster.receiver.until(6);
  const ids = received.map(({ headers }) => headers['webhook-id']);
  assert.deepEqual(new Set(ids.slice(3)), new Set(ids.slice(0, 3)), 'the same events, each once more');
});

function seqsOf(received: readonly Received[], device: string): unknown[] {
  return received.flatMap(({ event }) => (event?.['device_id'] === device ? event['seq'] : []));
}
