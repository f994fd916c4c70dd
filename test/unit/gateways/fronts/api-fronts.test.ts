import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'node:test';
import { succeed } from '../../../../src/lib/result.ts';
import type { RequestId } from '../../../../src/model/ids.ts';
import { answersPerTurnMax } from '../../../../src/model/limits.ts';
import { frontAskMsMax, frontStuckMsMax } from '../../../../src/model/http-limits.ts';
import type { Credential } from '../../../../src/model/registry.ts';
import type { ApiServices } from '../../../../src/gateways/api/api-services.ts';
import { Dispatcher } from '../../../../src/gateways/api/dispatcher.ts';
import { plain, type Call, type Reply, type Route } from '../../../../src/gateways/api/route.ts';
import { ApiFronts } from '../../../../src/gateways/fronts/api-fronts.ts';
import {
  frontCounters,
  frontSockets,
  type CallRow,
  type FromFront,
  type FrontStart,
  type OrderRow,
  type ReplyRow,
  type ToFront,
} from '../../../../src/gateways/fronts/front-messages.ts';
import type { FrontThread } from '../../../../src/gateways/fronts/front-thread.ts';
import { RequestLog } from '../../../../src/core/requests/request-log.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeLog, FakeRegistry, FakeTelemetry } from '../../../support/fakes.ts';
import { demoCredential } from '../../../support/signed-requests.ts';

const done: Reply = { code: 0, message: 'success', data: null };
const { accessKeyId } = demoCredential;
const lookMs = 500;

class FakeThread implements FrontThread {
  readonly posted: ToFront[] = [];
  /** True: it is stuck and cannot be ended. */
  isStuck = false;
  endings = 0;
  utilization = 0;
  readonly #counters: Int32Array;
  #listener: (message: FromFront) => void = () => undefined;
  #end: (reason: string) => void = () => undefined;
  readonly ended = new Promise<string>((resolve) => (this.#end = resolve));

  constructor({ counters }: FrontStart) {
    this.#counters = new Int32Array(counters);
  }

  onMessage(listener: (message: FromFront) => void): void {
    this.#listener = listener;
  }

  post(message: ToFront): void {
    this.posted.push(message);
  }

  async endStuck(): Promise<boolean> {
    this.endings += 1;
    if (!this.isStuck) await this.dies('');
    return !this.isStuck;
  }

  /** Posts a message to the core; resolves when the core has handled it. */
  async emit(message: FromFront): Promise<void> {
    this.#listener(message);
    await turn();
  }

  listens(): Promise<void> {
    Atomics.store(this.#counters, frontCounters.sockets, frontSockets.open);
    return this.answered('listen');
  }

  async dies(reason: string): Promise<void> {
    this.#end(reason);
    await turn();
  }

  /** Its event loop turns. */
  progresses(): void {
    Atomics.add(this.#counters, frontCounters.progress, 1);
  }

  answered(kind: ToFront['kind'], error: string | null = null): Promise<void> {
    const asked = this.posted.findLast((message) => message.kind === kind);
    assert.ok(asked !== undefined && 'ask' in asked, `it was asked for ${kind}`);
    return this.emit({ kind: 'done', ask: asked.ask, error });
  }

  /** The last credentials sent by a message of this kind. */
  lastCredentials(kind: 'serve' | 'credentials'): readonly Credential[] | undefined {
    const message = this.posted.findLast((each) => each.kind === kind);
    if (message?.kind === 'credentials') return message.set;
    return message?.kind === 'serve' ? message.credentials : undefined;
  }

  replies(): ReplyRow[] {
    return this.posted.flatMap((each) => (each.kind === 'replies' ? each.rows : []));
  }

  /** Sends calls of route 0 with these request ids. */
  calls(ids: readonly string[]): Promise<void> {
    const rows = ids.map((name, id): CallRow => [
      0,
      id,
      0,
      accessKeyId,
      name as RequestId,
      'caller',
      '',
      0,
      0,
      null,
      succeed(null),
    ]);
    return this.orders(rows);
  }

  orders(rows: readonly OrderRow[]): Promise<void> {
    return this.emit({ kind: 'orders', rows });
  }
}

class Scene {
  readonly clock = new DrivenClock();
  readonly log = new FakeLog();
  readonly telemetry = new FakeTelemetry();
  readonly registry = new FakeRegistry();
  readonly threads: FakeThread[] = [];
  /** Request ids in the order of handling. */
  readonly handled: string[] = [];
  stuck = 0;
  handle: (call: Call) => Reply | Promise<Reply> = () => done;
  readonly fronts: ApiFronts;

  constructor(count: number) {
    this.registry.credentials.set(accessKeyId, demoCredential);
    this.fronts = new ApiFronts({
      clock: this.clock,
      log: this.log,
      routes: [this.#route()],
      count,
      sharesPort: true,
      start: {
        listen: { host: '127.0.0.1', port: 80 },
        tls: null,
        perAddressMax: 0,
        verification: { windowMs: 300_000, explainMismatch: false },
        rules: {} as FrontStart['rules'],
      },
      startThread: (start) => {
        const thread = new FakeThread(start);
        this.threads.push(thread);
        return thread;
      },
      connectionsMax: () => 100,
      onStuck: () => (this.stuck += 1),
    });
  }

  /** A scene with serving fronts. */
  static async open(count = 2): Promise<Scene> {
    const scene = new Scene(count);
    const listening = scene.fronts.listen();
    for (const thread of scene.threads) await thread.answered('idle');
    for (const thread of scene.threads) await thread.listens();
    await listening;
    scene.serve();
    await turn();
    return scene;
  }

  serve(): void {
    const { clock, log, telemetry, registry } = this;
    const requestLog = new RequestLog('refused', clock, log);
    const services = { limits: {} } as ApiServices;
    this.fronts.serve({
      dispatcher: new Dispatcher({ services, registry, clock, telemetry, log, requestLog }),
      allCredentials: () => [...registry.credentials.values()],
      findCredential: (id) => registry.findCredential(id),
    });
  }

  thread(place: number): FakeThread {
    const thread = this.threads[place];
    assert.ok(thread !== undefined, `thread ${place} was started`);
    return thread;
  }

  /** Gives the credential a new secret. Resolves when the change may be answered. */
  change(): Promise<void> {
    this.registry.credentials.set(accessKeyId, { ...demoCredential, secretKey: 'changed' });
    return this.fronts.credentialsChanged([accessKeyId]);
  }

  get replacements(): readonly object[] {
    return this.log.lines
      .filter(({ message }) => message.includes('replacing it'))
      .map(({ fields }) => fields);
  }

  #route(): Route {
    return {
      name: 'test',
      method: 'GET',
      path: '/v1/test',
      permission: 'connectivity:read',
      limit: null,
      ...plain,
      parse: () => succeed(null),
      handle: (_params, call) => {
        this.handled.push(call.requestId.id);
        return this.handle(call);
      },
    };
  }
}

const names = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, i) => `${prefix}${i}`);

test('a call runs with its credential at the core, and its reply returns with the batch', async () => {
  const scene = await Scene.open();
  await scene.thread(0).calls(['a']);
  assert.deepEqual(scene.handled, ['a']);
  assert.deepEqual(scene.thread(0).replies(), [[0, done]]);
  const reply = scene.thread(0).posted.find((message) => message.kind === 'replies');
  assert.equal(reply?.kind === 'replies' && reply.taken, 1);
});

test('a call whose credential is revoked at the core is refused there', async () => {
  const scene = await Scene.open();
  scene.registry.credentials.delete(accessKeyId);
  await scene.thread(0).calls(['a']);
  assert.deepEqual(scene.handled, []);
  assert.equal(scene.thread(0).replies()[0]?.[1].code, 40105);
});

test('calls beyond the budget of a turn wait for the next turn', async () => {
  const scene = await Scene.open(1);
  const first = scene.thread(0).calls(names('a', answersPerTurnMax + 1));
  assert.equal(scene.handled.length, answersPerTurnMax);
  await first;
  assert.equal(scene.handled.length, answersPerTurnMax + 1);
});

test('fronts take turns: one with more calls than a turn holds delays another by one turn', async () => {
  const scene = await Scene.open();
  const [busy, other] = [scene.thread(0), scene.thread(1)];
  void busy.calls(names('busy', answersPerTurnMax * 3));
  const others = names('other', 10);
  const next = other.calls(others);
  assert.equal(scene.handled.filter((id) => id.startsWith('other')).length, 0, 'this turn is full');
  await next;
  assert.deepEqual(
    scene.handled.filter((id) => id.startsWith('other')),
    others,
  );
  assert.equal(scene.handled.length, answersPerTurnMax * 2);
});

test('a refusal that counts for several is counted as often, and logged once', async () => {
  const scene = await Scene.open();
  const reply: Reply = { code: 40105, message: 'no', data: null };
  await scene
    .thread(0)
    .orders([[2, 0, 401, reply, 'r' as RequestId, 'caller', 0, null, '2818153', 'signature_mismatch', 3]]);
  assert.equal(scene.telemetry.count('http test 401 40105'), 3);
  assert.equal(scene.telemetry.count('auth signature_mismatch'), 3);
  assert.equal(scene.log.lines.filter(({ message }) => message === 'request refused').length, 1);
});

test('a changed credential is in force when every front has acknowledged it', async () => {
  const scene = await Scene.open();
  let isInForce = false;
  void scene.change().then(() => (isInForce = true));
  await scene.thread(0).answered('credentials');
  assert.equal(isInForce, false);
  await scene.thread(1).answered('credentials');
  assert.equal(isInForce, true);
  assert.deepEqual(scene.thread(0).lastCredentials('credentials'), [
    scene.registry.credentials.get(accessKeyId),
  ]);
});

test('a front that does not acknowledge a credential within 1 s is replaced, and the change is answered', async () => {
  const scene = await Scene.open();
  const changed = scene.change();
  await scene.thread(0).answered('credentials');
  scene.clock.advance(frontAskMsMax);
  await changed;
  assert.equal(scene.thread(1).posted.at(-1)?.kind, 'close');
  assert.equal(scene.thread(0).posted.at(-1)?.kind, 'credentials');
  await scene.thread(1).dies('');
  assert.deepEqual(scene.replacements, [
    { front: 'front-1', reason: 'a changed credential: it did not answer within 1000 ms', restart_ms: 0 },
  ]);
  await scene.thread(2).listens();
  assert.deepEqual(scene.thread(2).lastCredentials('serve'), [...scene.registry.credentials.values()]);
});

test('a front that starts during a change does not delay it, and serves with the changed credential', async () => {
  const scene = await Scene.open(1);
  await scene.thread(0).dies('a fault');
  await scene.change();
  const started = scene.thread(1);
  assert.equal(started.lastCredentials('serve') ?? started.lastCredentials('credentials'), undefined);
  await started.listens();
  assert.deepEqual(started.lastCredentials('serve'), [...scene.registry.credentials.values()]);
});

test('a front that just began to serve gets the change after the initial credentials', async () => {
  const scene = await Scene.open(1);
  await scene.thread(0).dies('a fault');
  await scene.thread(1).listens();
  const changed = scene.change();
  assert.deepEqual(
    scene.thread(1).posted.map(({ kind }) => kind),
    ['listen', 'serve', 'credentials'],
  );
  await scene.thread(1).answered('credentials');
  await changed;
});

test('unreadable credentials are logged, and the change is answered', async () => {
  const scene = await Scene.open();
  scene.registry.failure = new Error('the page is damaged');
  await scene.fronts.credentialsChanged([accessKeyId]);
  assert.match(scene.log.lines.at(-1)?.message ?? '', /^API fronts: changed credentials cannot be read/);
});

test('a front without progress for 5 s is ended once, and the other one stays', async () => {
  const scene = await Scene.open();
  scene.clock.every(lookMs, () => scene.thread(1).progresses());
  scene.clock.advance(frontStuckMsMax);
  assert.deepEqual(scene.thread(0).posted.at(-1)?.kind, 'serve');
  scene.clock.advance(lookMs);
  assert.deepEqual(scene.thread(0).posted.at(-1)?.kind, 'close');
  scene.clock.advance(frontAskMsMax);
  await turn();
  assert.deepEqual([scene.thread(0).endings, scene.thread(1).endings], [1, 0]);
  assert.deepEqual(scene.replacements, [
    { front: 'front-0', reason: 'its loop has not turned for 5 s', restart_ms: 0 },
  ]);
  assert.equal(scene.stuck, 0);
});

test('a front that cannot be ended is reported as stuck', async () => {
  const scene = await Scene.open(1);
  scene.thread(0).isStuck = true;
  scene.clock.advance(frontStuckMsMax + lookMs + frontAskMsMax);
  await turn();
  assert.equal(scene.thread(0).endings, 1);
  assert.ok(scene.stuck > 0);
});

test('restarts of a front that dies at its start back off, and one that served restarts at once', async () => {
  const scene = await Scene.open(1);
  const waits: unknown[] = [];
  for (let death = 0; death < 9; death++) {
    await scene.threads.at(-1)?.dies('a fault');
    const { restart_ms: waitMs } = scene.replacements.at(-1) as { restart_ms: number };
    waits.push(waitMs);
    scene.clock.advance(waitMs);
  }
  assert.deepEqual(waits, [0, 100, 200, 400, 800, 1600, 3200, 5000, 5000]);
  await scene.threads.at(-1)?.listens();
  scene.clock.every(lookMs, () => scene.threads.at(-1)?.progresses());
  scene.clock.advance(frontStuckMsMax + 1);
  await scene.threads.at(-1)?.dies('a fault');
  assert.equal((scene.replacements.at(-1) as { restart_ms: number }).restart_ms, 0);
  assert.equal(scene.fronts.figures.replacements.ended, 10);
});

test('a front that dies hangs up its calls at the core', async () => {
  const scene = await Scene.open();
  const gone: string[] = [];
  scene.handle = (call) => {
    call.onGone(() => gone.push(call.requestId.id));
    return new Promise(() => undefined);
  };
  await scene.thread(0).calls(['a', 'b']);
  await scene.thread(1).calls(['c']);
  await scene.thread(0).dies('a fault');
  assert.deepEqual(gone, ['a', 'b']);
});

test('a front that dies during a reload of the certificate does not fail it, and one that refuses it does', async () => {
  const { fronts, ...scene } = await Scene.open();
  const [dying, staying] = scene.threads;
  const reloaded = fronts.reloadTls();
  await dying?.dies('out of memory');
  await staying?.answered('reload-tls');
  await reloaded;
  const refused = fronts.reloadTls();
  const rejected = assert.rejects(refused, /the key is of another certificate/);
  await staying?.answered('reload-tls', 'the key is of another certificate');
  await rejected;
});

test('a caller that hangs up ends the wait of its call', async () => {
  const scene = await Scene.open(1);
  const gone: string[] = [];
  scene.handle = (call) => {
    call.onGone(() => gone.push(call.requestId.id));
    return new Promise(() => undefined);
  };
  await scene.thread(0).calls(['a', 'b']);
  await scene.thread(0).orders([[1, 1]]);
  assert.deepEqual(gone, ['b']);
});

test('a front that ends with the server is not replaced', async () => {
  const scene = await Scene.open(1);
  const closing = scene.fronts.close();
  await scene.thread(0).answered('close');
  await scene.thread(0).dies('');
  await closing;
  assert.equal(scene.threads.length, 1);
  assert.equal(scene.clock.pendingTimers, 0);
});
