/** The webhook thread with a real store and a real receiver: committed events are delivered. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { moduleBeside, startModuleWorker } from '../../src/lib/module-worker.ts';
import type { ApplicationId, ProductId } from '../../src/model/ids.ts';
import { Webhooks, type WebhooksDeps } from '../../src/server/bootstrap/webhook-service.ts';
import { openStore, type Store } from '../../src/storage/lmdb/open-store.ts';
import { RegistryStore } from '../../src/storage/registry/registry-store.ts';
import { RegistryWriter } from '../../src/storage/registry/registry-write.ts';
import { askRoute, type RouteReply } from '../support/ask-route.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import { FakeLog, FakeTelemetry } from '../support/fakes.ts';
import { closedAfter, temporaryStore, type Ending } from '../support/temporary-store.ts';
import { draftOf, openJournal, type TestJournal } from '../support/test-journal.ts';
import { receiverSecret, WebhookReceiver, type Received } from '../support/webhook-receiver.ts';

const appId = '2818153' as ApplicationId;
/** The module of the thread lies next to it. */
const workerRoom = moduleBeside('../../src/webhooks/worker/webhook-thread', import.meta.url).href;

class WebhooksScene {
  readonly clock = new DrivenClock();
  readonly log = new FakeLog();
  readonly telemetry = new FakeTelemetry();
  readonly store: Store;
  readonly journal: TestJournal['journal'];
  readonly events: TestJournal['events'];
  readonly writer: RegistryWriter;
  readonly webhooks: Webhooks;

  /** Clock of the main thread; the webhook thread has its own. */
  constructor(store: Store, startWorker?: WebhooksDeps['startWorker']) {
    const { journal, events } = openJournal(store);
    this.store = store;
    this.journal = journal;
    this.events = events;
    this.writer = new RegistryWriter(store.registry, new RegistryStore(store.registry));
    this.webhooks = new Webhooks({
      clock: this.clock,
      log: this.log,
      telemetry: this.telemetry,
      onFault: () => undefined,
      events,
      dataDirectory: store.directory,
      allowLocal: true,
      ...(startWorker && { startWorker }),
    });
  }

  static async start(
    t: Ending,
    url: string | null,
    startWorker?: WebhooksDeps['startWorker'],
  ): Promise<WebhooksScene> {
    const context = new WebhooksScene(temporaryStore(t), startWorker);
    await context.writer.put('application', { appId, name: 'test' });
    await context.writer.put('product', { productId: 'doorbell' as ProductId, appIds: [appId] });
    if (url !== null) await context.register(url);
    await context.webhooks.start();
    t.after(() => context.webhooks.stop());
    return context;
  }

  /** Restarts the server on the same store. */
  async restart(t: Ending): Promise<WebhooksScene> {
    await this.webhooks.stop();
    await this.journal.allCommitted();
    await this.store.close();
    const context = new WebhooksScene(closedAfter(t, openStore(this.store.directory)));
    await context.webhooks.start();
    t.after(() => context.webhooks.stop());
    return context;
  }

  async register(url: string): Promise<void> {
    const put = await this.writer.put('webhook', { appId, url, secret: receiverSecret, types: ['*'] });
    assert.ok(put.ok);
  }

  happen(number: number, device = 'device'): void {
    this.events.append(draftOf(device, number));
  }

  ask(method: 'GET' | 'POST', path: string, body?: object): Promise<RouteReply> {
    return askRoute(this.webhooks.routes, method, path, body);
  }

  async listed(): Promise<Record<string, unknown>> {
    const { body } = await this.ask('GET', '/v1/webhook/list');
    const [webhook] = (body as { webhooks: Record<string, unknown>[] }).webhooks;
    assert.ok(webhook !== undefined);
    return webhook;
  }
}

const seqsOf = (received: readonly Received[]): unknown[] => received.map(({ event }) => event?.['seq']);

test('committed events are delivered signed, once, and in order for each device', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  const context = await WebhooksScene.start(t, receiver.url);
  for (let i = 0; i < 300; i++) context.happen(i, `device-${i % 3}`);
  const received = await receiver.until(300);
  for (const device of ['device-0', 'device-1', 'device-2'])
    assert.deepEqual(
      seqsOf(received.filter(({ event }) => event?.['device_id'] === device)),
      Array.from({ length: 100 }, (_, i) => i + 1),
    );
  const [first] = received;
  assert.match(first?.headers['user-agent'] ?? '', /^Reveille\/\d+\.\d+\.\d+$/);
  assert.equal(first?.headers['webhook-id'], first?.event?.['id']);
  await context.webhooks.stop();
  assert.equal(context.telemetry.count('webhook delivered'), 300);
});

test('delivery continues at its cursor after a restart', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  const context = await WebhooksScene.start(t, receiver.url);
  context.happen(1);
  await receiver.until(1);
  await context.webhooks.stop();
  context.happen(2);
  const later = await context.restart(t);
  later.happen(3);
  assert.deepEqual(seqsOf(await receiver.until(3)), [1, 2, 3]);
});

test('a thread that dies is restarted without a loss', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  const workers: Worker[] = [];
  const context = await WebhooksScene.start(t, receiver.url, (task) => {
    const worker = startModuleWorker('webhook-worker', workerRoom, task);
    workers.push(worker);
    return worker;
  });
  context.happen(1);
  await receiver.until(1);
  await workers[0]?.terminate();
  context.happen(2);
  await context.journal.allCommitted();
  assert.equal((await context.ask('GET', '/v1/webhook/list')).status, 503);
  context.clock.advance(1000);
  // The first event may be repeated: the thread died after the delivery, before its commit.
  while (!seqsOf(receiver.received).includes(2)) await receiver.until(receiver.received.length + 1);
  context.happen(3);
  while (!seqsOf(receiver.received).includes(3)) await receiver.until(receiver.received.length + 1);
  assert.equal(workers.length, 2);
});

test('a webhook added at runtime receives events from then on', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  const other = await WebhookReceiver.start(t);
  const context = await WebhooksScene.start(t, receiver.url);
  context.happen(1);
  await receiver.until(1);
  await context.register(other.url);
  context.webhooks.registryChanged();
  context.happen(2);
  assert.deepEqual(seqsOf(await other.until(1)), [2]);
});
