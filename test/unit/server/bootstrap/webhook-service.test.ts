import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import type { FromWebhooks, ToWebhooks } from '../../../../src/webhooks/worker/webhook-messages.ts';
import { Webhooks } from '../../../../src/server/bootstrap/webhook-service.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeLog, FakeTelemetry } from '../../../support/fakes.ts';

/** A thread that is ready at once and keeps its messages. */
class FakeWorker extends EventEmitter {
  readonly posted: ToWebhooks[] = [];

  constructor() {
    super();
    void setImmediate().then(() => this.report({ kind: 'ready' }));
  }

  report(message: FromWebhooks): void {
    this.emit('message', message);
  }

  postMessage(message: ToWebhooks): void {
    this.posted.push(message);
    if (message.kind === 'stop') this.emit('exit', 0);
  }
}

class Scene {
  readonly worker = new FakeWorker();
  readonly events = { head: 0, told: (): void => undefined };
  readonly webhooks: Webhooks;

  constructor() {
    const { events, worker } = this;
    this.webhooks = new Webhooks({
      clock: new DrivenClock(),
      log: new FakeLog(),
      telemetry: new FakeTelemetry(),
      onFault: () => undefined,
      events: {
        get head() {
          return events.head;
        },
        follow: (told) => {
          events.told = () => told([]);
          return () => undefined;
        },
      },
      dataDirectory: '/data',
      allowLocal: true,
      startWorker: () => worker as unknown as Worker,
    });
  }

  commit(head: number): void {
    this.events.head = head;
    this.events.told();
  }
}

test('the thread receives no events while there is no webhook', async () => {
  const scene = new Scene();
  await scene.webhooks.start();
  scene.commit(7);
  scene.webhooks.registryChanged();
  assert.deepEqual(scene.worker.posted, [{ kind: 'registry-changed', head: 7 }]);
});

test('with its first webhook the thread receives earlier and later events', async () => {
  const scene = new Scene();
  await scene.webhooks.start();
  scene.webhooks.registryChanged();
  scene.commit(8);
  scene.worker.report({ kind: 'hooks', areThere: true });
  await setImmediate();
  scene.commit(9);
  assert.deepEqual(scene.worker.posted, [
    { kind: 'registry-changed', head: 0 },
    { kind: 'head', head: 8 },
    { kind: 'head', head: 9 },
  ]);
});

test('after its last webhook was removed the thread receives no more events', async () => {
  const scene = new Scene();
  await scene.webhooks.start();
  scene.worker.report({ kind: 'hooks', areThere: true });
  scene.worker.report({ kind: 'hooks', areThere: false });
  await setImmediate();
  scene.commit(9);
  assert.deepEqual(scene.worker.posted, [{ kind: 'head', head: 0 }]);
});
