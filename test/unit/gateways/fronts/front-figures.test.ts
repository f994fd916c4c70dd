/** The figures of fronts, for operators. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiFronts } from '../../../../src/gateways/fronts/api-fronts.ts';
import {
  frontCounters,
  frontSockets,
  type FromFront,
  type ToFront,
} from '../../../../src/gateways/fronts/front-messages.ts';
import type { FrontThread } from '../../../../src/gateways/fronts/front-thread.ts';
import type { Dispatcher } from '../../../../src/gateways/api/dispatcher.ts';
import { frontAskMsMax, frontStuckMsMax } from '../../../../src/model/http-limits.ts';
import type { AccessKeyId } from '../../../../src/model/ids.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeLog } from '../../../support/fakes.ts';

/** The thread of a scripted front. It acknowledges orders unless it is silent. */
class ScriptedThread implements FrontThread {
  readonly counters: Int32Array;
  readonly ended: Promise<string>;
  utilization = 0;
  isSilent = false;
  /** Calls of `endStuck`, which waits until the test ends the thread. */
  stuckEnds = 0;
  #send: (message: FromFront) => void = () => undefined;
  #end: (reason: string) => void = () => undefined;

  constructor(counters: SharedArrayBuffer) {
    this.counters = new Int32Array(counters);
    this.ended = new Promise((resolve) => (this.#end = resolve));
  }

  onMessage(listener: (message: FromFront) => void): void {
    this.#send = listener;
  }

  post(message: ToFront): void {
    if (this.isSilent || !('ask' in message)) return;
    if (message.kind === 'listen') this.count('sockets', frontSockets.open);
    this.#send({ kind: 'done', ask: message.ask, error: null });
    if (message.kind === 'close') this.#end('');
  }

  endStuck(): Promise<boolean> {
    this.stuckEnds += 1;
    return this.ended.then(() => true);
  }

  fail(reason: string): void {
    this.#end(reason);
  }

  turn(): void {
    this.count('progress', (this.counters[frontCounters.progress] ?? 0) + 1);
  }

  count(counter: keyof typeof frontCounters, value: number): void {
    this.counters[frontCounters[counter]] = value;
  }
}

class Scene {
  readonly clock = new DrivenClock();
  readonly log = new FakeLog();
  /** In the order of their starts. */
  readonly threads: ScriptedThread[] = [];
  readonly fronts: ApiFronts;

  constructor(count: number) {
    this.fronts = new ApiFronts({
      clock: this.clock,
      log: this.log,
      routes: [],
      count,
      sharesPort: true,
      startThread: ({ counters }) => {
        const thread = new ScriptedThread(counters);
        this.threads.push(thread);
        return thread;
      },
      start: {
        listen: { host: '127.0.0.1', port: 8080 },
        tls: null,
        perAddressMax: 0,
        verification: { windowMs: 1000, explainMismatch: false },
        rules: { mixedFormats: 'refuse', secretRules: { allowShortSecrets: false } },
      },
      connectionsMax: () => 100,
      onStuck: () => assert.fail('every front can be ended'),
    });
  }

  async serve(): Promise<void> {
    await this.fronts.listen();
    this.fronts.serve({
      dispatcher: {} as Dispatcher,
      allCredentials: () => [],
      findCredential: () => null,
    });
  }

  thread(number: number): ScriptedThread {
    return this.threads[number] ?? assert.fail(`no front was started as number ${number}`);
  }

  /** Advances the clock while the event loops of `turning` turn. */
  async pass(ms: number, turning: readonly number[]): Promise<void> {
    for (let passedMs = 0; passedMs < ms; passedMs += 100) {
      for (const number of turning) this.thread(number).turn();
      this.clock.advance(100);
      await new Promise(setImmediate);
    }
  }

  async fail(...numbers: readonly number[]): Promise<void> {
    for (const number of numbers) this.thread(number).fail('a fault');
    await new Promise(setImmediate);
  }

  get states(): readonly string[] {
    return this.fronts.figures.fronts.map(({ state }) => state);
  }
}

test('each front is shown with its figures', async () => {
  const scene = new Scene(2);
  await scene.serve();
  scene.thread(1).count('connections', 3);
  scene.thread(1).count('waitingCalls', 2);
  scene.thread(1).utilization = 0.25;
  const sinceMs = scene.clock.wallMs();
  const quiet = { state: 'up', connections: 0, waitingCalls: 0, openCalls: 0, utilization: 0 };
  assert.deepEqual(scene.fronts.figures.fronts, [
    { name: 'front-0', ...quiet, restarts: 0, sinceMs },
    { name: 'front-1', ...quiet, connections: 3, waitingCalls: 2, utilization: 0.25, restarts: 0, sinceMs },
  ]);
  await scene.fronts.close();
});

test('an ended front is replaced, and its counts stay', async () => {
  const scene = new Scene(2);
  await scene.serve();
  for (const counter of ['refused', 'evicted', 'refusedCalls'] as const) scene.thread(0).count(counter, 7);
  scene.thread(0).count('connections', 9);
  await scene.pass(1000, [0, 1]);
  await scene.fail(0);
  const { fronts, replacements, refusedCalls } = scene.fronts.figures;
  const sinceMs = scene.clock.wallMs();
  assert.deepEqual(
    fronts.map(({ state, restarts, sinceMs: ms }) => [state, restarts, sinceMs - ms]),
    [
      ['up', 1, 0],
      ['up', 0, 1000],
    ],
  );
  assert.deepEqual(replacements, { ended: 1, stuck: 0, credentials: 0 });
  assert.equal(refusedCalls, 7);
  assert.deepEqual([scene.fronts.refused, scene.fronts.evicted, scene.fronts.count], [7, 7, 0]);
  await scene.fronts.close();
});

test('a server without a serving front is not ready, and names each', async () => {
  const scene = new Scene(2);
  await scene.serve();
  await scene.fail(0, 1);
  assert.deepEqual(scene.states, ['up', 'up']);
  await scene.fail(2);
  assert.deepEqual(scene.states, ['down', 'up']);
  assert.deepEqual(scene.fronts.missing, { isReady: true, reasons: ['front-0'] });
  await scene.fail(3);
  assert.deepEqual(scene.fronts.missing, { isReady: false, reasons: ['front-0', 'front-1'] });
  await scene.pass(200, []);
  assert.deepEqual(scene.fronts.missing, { isReady: true, reasons: [] });
  await scene.fronts.close();
});

test('a front with a stuck event loop is shown as stuck, and counted as that when it is replaced', async () => {
  const scene = new Scene(2);
  await scene.serve();
  await scene.pass(1000, [0, 1]);
  scene.thread(0).isSilent = true;
  await scene.pass(2000, [1]);
  assert.deepEqual(scene.states, ['stuck', 'up']);
  assert.deepEqual(scene.fronts.missing.reasons, ['front-0']);
  await scene.pass(2 * frontStuckMsMax, [1]);
  assert.equal(scene.thread(0).stuckEnds, 1);
  await scene.fail(0);
  assert.deepEqual(scene.states, ['up', 'up']);
  assert.deepEqual(scene.fronts.figures.replacements, { ended: 0, stuck: 1, credentials: 0 });
  assert.match(JSON.stringify(scene.log.lines), /front-0.*its loop has not turned for 5 s/);
  await scene.fronts.close();
});

test('a front that does not acknowledge a credential is replaced, and counted as that', async () => {
  const scene = new Scene(2);
  await scene.serve();
  scene.thread(1).isSilent = true;
  const changed = scene.fronts.credentialsChanged(['AKCHANGED' as AccessKeyId]);
  await scene.pass(frontAskMsMax, [0, 1]);
  await changed;
  await scene.pass(frontAskMsMax + 200, [0, 1]);
  await scene.fail(1);
  assert.deepEqual(scene.fronts.figures.replacements, { ended: 0, stuck: 0, credentials: 1 });
  assert.deepEqual(
    scene.fronts.figures.fronts.map(({ restarts }) => restarts),
    [0, 1],
  );
  await scene.fronts.close();
});
