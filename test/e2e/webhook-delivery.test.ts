/** The engine over real sockets and a real store, by a clock that the test moves. */
import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { test } from 'node:test';
import { LmdbDeliveryStore, WebhookTables } from '../../src/storage/webhooks/lmdb-delivery-store.ts';
import { WebhookEngine } from '../../src/webhooks/delivery/engine.ts';
import { HttpSender } from '../../src/webhooks/http/http-sender.ts';
import { SystemNames } from '../../src/webhooks/http/checked-connections.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import { FakeLog, FakeTelemetry } from '../support/fakes.ts';
import { temporaryDirectory, type Ending } from '../support/temporary-store.ts';
import { ok, receiverSecret, status, WebhookReceiver } from '../support/webhook-receiver.ts';
import { MemoryLog, MemoryRegistry, webhook } from '../support/webhook-scene.ts';

const seconds = 1000;

class Delivery {
  /** Of now, because a receiver holds the signature's time against its own. */
  readonly clock = new DrivenClock(Date.now());
  readonly telemetry = new FakeTelemetry();
  readonly events = new MemoryLog();
  readonly registry = new MemoryRegistry();
  readonly #directory: string;
  #tables: WebhookTables;
  #engine: WebhookEngine;

  constructor(t: Ending, urls: readonly string[]) {
    this.#directory = temporaryDirectory(t);
    for (const url of urls) this.registry.hooks.push(webhook({ url, secret: receiverSecret }));
    this.#tables = new WebhookTables(this.#directory);
    this.#engine = this.#begin();
    t.after(() => this.#end());
  }

  happen(...deviceIds: readonly string[]): void {
    for (const deviceId of deviceIds) this.events.append(deviceId);
    this.#engine.advance(this.events.head);
  }

  /** Resolves when so many attempts have ended in this way. */
  async counted(result: string, count: number): Promise<void> {
    while (this.telemetry.count(`webhook ${result}`) < count) await setImmediate();
  }

  /** Closes the store and opens it again. */
  async restart(): Promise<void> {
    await this.#end();
    this.#tables = new WebhookTables(this.#directory);
    this.#engine = this.#begin();
  }

  async #end(): Promise<void> {
    await this.#engine.stop();
    await this.#tables.environment.close();
  }

  #begin(): WebhookEngine {
    const { clock, telemetry, events, registry } = this;
    const engine = new WebhookEngine({
      clock,
      log: new FakeLog(),
      telemetry,
      registry,
      events,
      deliveries: new LmdbDeliveryStore(this.#tables),
      sender: new HttpSender({
        clock,
        resolver: new SystemNames(),
        allowLocal: true,
        userAgent: 'Reveille/0.0.0',
        attemptMsMax: 15 * seconds,
      }),
      random: () => 0.5,
    });
    engine.start(this.events.head);
    return engine;
  }
}

test('500 and then 200: the same event under the same id, signed anew', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  receiver.answerInTurn(status(500), ok);
  const delivery = new Delivery(t, [receiver.url]);
  delivery.happen('device');
  await delivery.counted('failed', 1);
  delivery.clock.advance(5 * seconds);
  await delivery.counted('delivered', 1);
  const [first, second] = receiver.received;
  assert.deepEqual(first?.event, second?.event);
  assert.equal(first?.headers['webhook-id'], second?.headers['webhook-id']);
  assert.notEqual(first?.headers['webhook-timestamp'], second?.headers['webhook-timestamp']);
  assert.notEqual(first?.headers['webhook-signature'], second?.headers['webhook-signature']);
});

test('a retry comes after a restart too, from the copy in the store', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  receiver.answerInTurn(status(503), ok);
  const delivery = new Delivery(t, [receiver.url]);
  delivery.happen('device');
  await delivery.counted('failed', 1);
  await delivery.restart();
  delivery.events.forget(1);
  delivery.clock.advance(5 * seconds);
  await delivery.counted('delivered', 1);
  assert.deepEqual(receiver.received[0]?.event, receiver.received[1]?.event);
  await delivery.restart();
  delivery.happen('device');
  await delivery.counted('delivered', 2);
  assert.equal(receiver.received.length, 3);
});
