import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import type { HookChanges } from '../../../../src/core/ports/delivery-store.ts';
import type {
  FromWebhooks,
  ToWebhooks,
  WebhookTask,
} from '../../../../src/webhooks/worker/webhook-messages.ts';
import { WebhookThread } from '../../../../src/webhooks/worker/webhook-thread.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeLog, FakeTelemetry } from '../../../support/fakes.ts';

/** A worker controlled by the test. */
class FakeWorker extends EventEmitter {
  readonly posted: ToWebhooks[] = [];
  isTerminated = false;

  postMessage(message: ToWebhooks): void {
    this.posted.push(message);
  }

  async terminate(): Promise<number> {
    this.isTerminated = true;
    this.emit('exit', 1);
    return 1;
  }

  emitMessage(message: FromWebhooks): void {
    this.emit('message', message);
  }

  die(error = new Error('out of memory')): void {
    this.emit('error', error);
    this.emit('exit', 1);
  }
}

class ThreadScene {
  readonly clock = new DrivenClock();
  readonly log = new FakeLog();
  readonly telemetry = new FakeTelemetry();
  readonly workers: FakeWorker[] = [];
  readonly tasks: WebhookTask[] = [];
  head = 7;
  replicateDeliveries: ((changes: readonly HookChanges[]) => Promise<void>) | null = null;
  hooksCame = 0;
  readonly faults: string[] = [];
  readonly thread = new WebhookThread({
    clock: this.clock,
    log: this.log,
    telemetry: this.telemetry,
    task: () => ({
      directory: '/data',
      allowLocal: false,
      userAgent: 'Reveille/0',
      head: this.head,
      isDeliveryStoreShared: this.replicateDeliveries !== null,
    }),
    replicateDeliveries: (changes) => this.replicateDeliveries?.(changes) ?? Promise.resolve(),
    onFault: (file, reason, fault) => void this.faults.push(`${file}: ${reason} (${fault})`),
    onHooks: () => void (this.hooksCame += 1),
    startWorker: (task) => {
      const worker = new FakeWorker();
      this.tasks.push(task);
      this.workers.push(worker);
      return worker as unknown as Worker;
    },
  });

  get worker(): FakeWorker {
    const worker = this.workers.at(-1);
    assert.ok(worker !== undefined);
    return worker;
  }

  async start(): Promise<void> {
    const started = this.thread.start();
    this.worker.emitMessage({ kind: 'ready' });
    await started;
  }
}

test('the start resolves when the thread is ready, and rejects when it ends before', async () => {
  const scene = new ThreadScene();
  await scene.start();
  const other = new ThreadScene();
  const started = other.thread.start();
  other.worker.die(new Error('no such file'));
  await assert.rejects(started, /no such file/);
  assert.equal(other.clock.pendingTimers, 0, 'and is not tried again by itself');
});

test('counts and log lines of the thread are forwarded', async () => {
  const scene = new ThreadScene();
  await scene.start();
  scene.worker.emitMessage({
    kind: 'counts',
    counts: new Map([
      ['delivered', 3],
      ['failed', 1],
    ]),
  });
  scene.worker.emitMessage({ kind: 'fault', file: 'webhooks.mdb', reason: 'no page', fault: 'damaged' });
  assert.deepEqual(scene.faults, ['webhooks.mdb: no page (damaged)']);
  scene.worker.emitMessage({ kind: 'log', level: 'warn', fields: { url: 'x' }, message: 'webhook fails' });
  assert.equal(scene.telemetry.count('webhook delivered'), 3);
  assert.equal(scene.telemetry.count('webhook failed'), 1);
  assert.deepEqual(scene.log.lines, [{ level: 'warn', fields: { url: 'x' }, message: 'webhook fails' }]);
});

test('a dead thread is restarted after one second, then two, up to a minute, with the newest head', async () => {
  const scene = new ThreadScene();
  await scene.start();
  scene.worker.die();
  scene.head = 9;
  const waits: number[] = [];
  for (let i = 0; i < 8; i++) {
    const before = scene.workers.length;
    let waited = 0;
    while (scene.workers.length === before) {
      scene.clock.advance(500);
      waited += 500;
    }
    waits.push(waited);
    scene.worker.die();
  }
  assert.deepEqual(waits, [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
  assert.equal(scene.tasks.at(-1)?.head, 9);
  assert.ok(scene.log.lines.every(({ level }) => level === 'error'));
});

test('a thread that lived for a minute is restarted after one second', async () => {
  const scene = new ThreadScene();
  await scene.start();
  scene.worker.die();
  scene.clock.advance(1000);
  scene.worker.emitMessage({ kind: 'ready' });
  scene.clock.advance(60_000);
  scene.worker.die();
  scene.clock.advance(1000);
  assert.equal(scene.workers.length, 3);
});

test('each question gets its own answer', async () => {
  const scene = new ThreadScene();
  await scene.start();
  const name = { url: 'https://backend.example/', appId: null };
  const first = scene.thread.ask({ kind: 'list' });
  const second = scene.thread.ask({ kind: 'enable', name });
  const [list, enable] = scene.worker.posted;
  assert.ok(list?.kind === 'question' && enable?.kind === 'question');
  assert.deepEqual(enable.question, { kind: 'enable', name });
  const unknown = { ok: false, error: { kind: 'unknown', message: 'no webhook' } } as const;
  scene.worker.emitMessage({ kind: 'reply', id: enable.id, reply: unknown });
  scene.worker.emitMessage({ kind: 'reply', id: list.id, reply: { ok: true, value: [] } });
  assert.deepEqual(await first, { ok: true, value: [] });
  assert.deepEqual(await second, unknown);
});

test('questions that are pending at a death or asked before the restart answer unavailable', async () => {
  const scene = new ThreadScene();
  await scene.start();
  const asked = scene.thread.ask({ kind: 'list' });
  scene.worker.die();
  for (const reply of [await asked, await scene.thread.ask({ kind: 'list' })])
    assert.ok(!reply.ok && reply.error.kind === 'unavailable');
});

test('too many pending questions are refused', async () => {
  const scene = new ThreadScene();
  await scene.start();
  for (let i = 0; i < 64; i++) void scene.thread.ask({ kind: 'list' });
  const refused = await scene.thread.ask({ kind: 'list' });
  assert.ok(!refused.ok && refused.error.kind === 'busy');
});

test('a stop asks the thread to end and waits for its end', async () => {
  const scene = new ThreadScene();
  await scene.start();
  const stopped = scene.thread.stop();
  assert.deepEqual(scene.worker.posted, [{ kind: 'stop' }]);
  scene.worker.emit('exit', 0);
  await stopped;
  assert.equal(scene.worker.isTerminated, false);
  assert.equal(scene.clock.pendingTimers, 0);
});

test('a thread that does not end in ten seconds is terminated', async () => {
  const scene = new ThreadScene();
  await scene.start();
  const stopped = scene.thread.stop();
  scene.clock.advance(9999);
  assert.equal(scene.worker.isTerminated, false);
  scene.clock.advance(1);
  await stopped;
  assert.equal(scene.worker.isTerminated, true);
});

test('a thread that is stopped before its restart is not started', async () => {
  const scene = new ThreadScene();
  await scene.start();
  scene.worker.die();
  await scene.thread.stop();
  scene.clock.advance(60_000);
  assert.equal(scene.workers.length, 1);
});

const changes: readonly HookChanges[] = [
  { id: 'hook', number: 1, record: null, failed: new Map(), parked: new Map(), parkedTrimmed: 0 },
];

test('changes of the delivery store are replicated before they are acknowledged to the thread', async () => {
  const scene = new ThreadScene();
  const kept: unknown[] = [];
  let isKept = (): void => undefined;
  scene.replicateDeliveries = (given) => {
    kept.push(given);
    return new Promise((resolve) => {
      isKept = resolve;
    });
  };
  await scene.start();
  scene.worker.emitMessage({ kind: 'delivery store', id: 4, changes });
  assert.deepEqual(kept, [changes]);
  assert.deepEqual(scene.worker.posted, []);
  isKept();
  await setImmediate();
  assert.deepEqual(scene.worker.posted, [{ kind: 'kept', id: 4, fault: null }]);
});

test('a failed replication of the delivery store is reported to the thread with its reason', async () => {
  const scene = new ThreadScene();
  scene.replicateDeliveries = () => Promise.reject(new Error('NATS is away'));
  await scene.start();
  scene.worker.emitMessage({ kind: 'delivery store', id: 4, changes });
  await setImmediate();
  assert.deepEqual(scene.worker.posted, [{ kind: 'kept', id: 4, fault: 'NATS is away' }]);
});

test('an abandoned thread is terminated at once, and not restarted', async () => {
  const scene = new ThreadScene();
  await scene.start();
  const asked = scene.thread.ask({ kind: 'list' });
  await scene.thread.abandon();
  assert.equal(scene.worker.isTerminated, true);
  assert.equal((await asked).ok, false);
  scene.clock.advance(60_000);
  assert.equal(scene.workers.length, 1);
});

test('the presence of hooks is known, and reset by the death of the thread', async () => {
  const scene = new ThreadScene();
  await scene.start();
  assert.equal(scene.thread.hasHooks, false);
  scene.worker.emitMessage({ kind: 'hooks', areThere: true });
  assert.deepEqual([scene.thread.hasHooks, scene.hooksCame], [true, 1]);
  scene.worker.die();
  scene.clock.advance(1000);
  assert.deepEqual([scene.workers.length, scene.thread.hasHooks], [2, false]);
});
