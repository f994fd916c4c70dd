import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import type { MemberId } from '../../../../src/model/cluster.ts';
import type { HookChanges } from '../../../../src/core/ports/delivery-store.ts';
import type { FromWebhooks, ToWebhooks } from '../../../../src/webhooks/worker/webhook-messages.ts';
import {
  WebhookLeaderElection,
  type WebhookLeadership,
} from '../../../../src/server/bootstrap/webhook-leader-election.ts';
import { LmdbDeliveryStore, WebhookTables } from '../../../../src/storage/webhooks/lmdb-delivery-store.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeLog, FakeTelemetry } from '../../../support/fakes.ts';
import { temporaryDirectory, type Ending } from '../../../support/temporary-store.ts';

/** A thread that is ready at once and ends on request. */
class ReadyWorker extends EventEmitter {
  readonly posted: ToWebhooks['kind'][] = [];
  isTerminated = false;

  constructor() {
    super();
    void setImmediate().then(() => this.emit('message', { kind: 'ready' } satisfies FromWebhooks));
  }

  postMessage({ kind }: ToWebhooks): void {
    this.posted.push(kind);
    if (kind === 'stop') this.emit('exit', 0);
  }

  async terminate(): Promise<number> {
    this.isTerminated = true;
    this.emit('exit', 1);
    return 1;
  }
}

class Leadership implements WebhookLeadership {
  isHeld = false;
  holder: MemberId | null = null;
  isReleased = false;
  told = { onGained: (): void => undefined, onLost: (): void => undefined };

  start(): void {}

  async release(): Promise<void> {
    this.isHeld = false;
    this.isReleased = true;
  }

  gain(): void {
    this.isHeld = true;
    this.told.onGained();
  }

  lose(): void {
    this.isHeld = false;
    this.told.onLost();
  }
}

class Scene {
  readonly clock = new DrivenClock();
  readonly log = new FakeLog();
  readonly turns = new Leadership();
  readonly workers: ReadyWorker[] = [];
  readonly directory: string;
  readonly election: WebhookLeaderElection;
  readonly events = { head: 0, told: (): void => undefined };
  shared: readonly HookChanges[] = [];
  failure: Error | null = null;
  isCutOff = false;

  constructor(t: Ending) {
    this.directory = temporaryDirectory(t);
    const headOf = (): number => this.events.head;
    this.election = new WebhookLeaderElection({
      clock: this.clock,
      log: this.log,
      telemetry: new FakeTelemetry(),
      onFault: () => undefined,
      isCutOff: () => this.isCutOff,
      events: {
        get head() {
          return headOf();
        },
        follow: (told) => {
          this.events.told = () => told([]);
          return () => undefined;
        },
      },
      dataDirectory: this.directory,
      allowLocal: true,
      startWorker: () => {
        const worker = new ReadyWorker();
        this.workers.push(worker);
        return worker as unknown as Worker;
      },
      deliveries: {
        load: async (take) => {
          if (this.failure !== null) throw this.failure;
          await take(this.shared);
        },
        keep: async () => undefined,
      },
      turns: (told) => {
        this.turns.told = told;
        return this.turns;
      },
    });
  }

  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await setImmediate();
  }

  async begins(): Promise<void> {
    await this.until(() => this.log.lines.some(({ message }) => /this node delivers them now/.test(message)));
  }
}

function hook(number: number, cursor: number): HookChanges {
  const nothing = { parked: 0, switchedOff: null, lastSuccessAtMs: null, lastFailure: null };
  const record = { number, cursor, ...nothing };
  return { id: `hook-${number}`, number, record, failed: new Map(), parked: new Map(), parkedTrimmed: 0 };
}

test('the node that gains the lease loads the shared delivery store, and drops its own', async (t) => {
  const scene = new Scene(t);
  const before = new WebhookTables(scene.directory);
  await new LmdbDeliveryStore(before).commit([hook(1, 3), hook(2, 3)]);
  await before.environment.close();
  scene.shared = [hook(2, 7)];
  scene.events.head = 9;
  scene.turns.gain();
  await scene.begins();
  const after = new WebhookTables(scene.directory);
  t.after(() => after.environment.close());
  assert.deepEqual(Array.from(new LmdbDeliveryStore(after).hooks()), [['hook-2', hook(2, 7).record]]);
  await scene.election.stop();
});

test('delivery starts only after the local log has reached the cursor of the last holder', async (t) => {
  const scene = new Scene(t);
  scene.shared = [hook(1, 7)];
  scene.turns.gain();
  await scene.until(() => scene.clock.pendingTimers > 0);
  assert.equal(scene.workers.length, 0);
  scene.events.head = 7;
  scene.events.told();
  await scene.begins();
  await scene.election.stop();
});

test('the wait for the local log ends after ten seconds', async (t) => {
  const scene = new Scene(t);
  scene.shared = [hook(1, 7)];
  scene.turns.gain();
  await scene.until(() => scene.clock.pendingTimers > 0);
  scene.clock.advance(10_000);
  await scene.begins();
  await scene.election.stop();
});

test('a failed start of delivery is retried after three seconds', async (t) => {
  const scene = new Scene(t);
  scene.failure = new Error('NATS is away');
  scene.turns.gain();
  await scene.until(() => scene.log.lines.some(({ level }) => level === 'error'));
  assert.equal(scene.workers.length, 0);
  scene.failure = null;
  scene.clock.advance(3000);
  await scene.begins();
  await scene.election.stop();
});

test('a node that loses the lease ends its thread at once, and names the new holder', async (t) => {
  const scene = new Scene(t);
  scene.turns.gain();
  await scene.begins();
  scene.turns.lose();
  await scene.until(() => scene.workers[0]?.isTerminated ?? false);
  scene.turns.holder = 'node-b/0@7' as MemberId;
  const asked = await scene.election.ask({ kind: 'list' });
  assert.deepEqual(asked, {
    ok: false,
    error: { kind: 'unavailable', message: 'the webhooks are delivered by the node node-b: ask there' },
  });
  scene.isCutOff = true;
  const blind = await scene.election.ask({ kind: 'list' });
  assert.ok(!blind.ok);
  assert.match(blind.error.message, /^NATS does not answer, so the node that delivers/);
});

test('an orderly stop lets the thread finish, and then releases the lease', async (t) => {
  const scene = new Scene(t);
  scene.turns.gain();
  await scene.begins();
  await scene.election.stop();
  const [worker] = scene.workers;
  assert.equal(worker?.posted.at(-1), 'stop');
  assert.equal(worker?.isTerminated, false);
  assert.equal(scene.turns.isReleased, true);
  assert.equal(scene.clock.pendingTimers, 0);
});
