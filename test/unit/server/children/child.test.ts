import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'node:test';
import { childBounds, childVersion } from '../../../../src/lib/children/child-messages.ts';
import { encodeLengthFrame } from '../../../../src/lib/link/length-frame.ts';
import { ChildLife } from '../../../../src/server/children/child-life.ts';
import { messageOf } from '../../../../src/lib/result.ts';
import { SupervisedChild } from '../../../../src/server/children/child.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeChild } from '../../../support/fake-children.ts';
import { FakeLog } from '../../../support/fakes.ts';

interface Kind {
  readonly task: { readonly name: string; readonly port: number; readonly failure: string | null };
  readonly ready: { readonly port: number };
  readonly order: string;
  readonly report: number;
}

const startMsMax = 20_000;
const stopMsMax = 3000;

class ChildScene {
  readonly clock = new DrivenClock();
  readonly log = new FakeLog();
  readonly forks: FakeChild<Kind>[] = [];
  readonly reports: number[] = [];
  /** States in order of their changes. */
  readonly states: string[] = [];
  readonly child: SupervisedChild<Kind>;
  /** Thrown by the next launch. */
  noProcess: Error | null = null;
  readonly deaths: string[] = [];
  onDeath: () => void = () => undefined;

  constructor() {
    const { clock, log } = this;
    this.child = new SupervisedChild<Kind>({
      clock,
      log,
      name: 'edge',
      fields: { edge: 'edge-1' },
      restartMs: { min: 500, max: 2000 },
      launch: () => new ChildLife<Kind>(this.#fork(), { clock, name: 'edge', startMsMax }),
      task: (_life, last, failure) => ({ name: 'edge-1', port: last?.port ?? 0, failure }),
      reported: (report) => this.reports.push(report),
      died: (why) => {
        this.deaths.push(why);
        this.onDeath();
      },
      changed: () => this.states.push(this.child.facts.state),
    });
  }

  get last(): FakeChild<Kind> {
    return this.forks.at(-1) ?? assert.fail('none was started');
  }

  /** A child that is ready. */
  async up(): Promise<FakeChild<Kind>> {
    const starting = this.child.start();
    await this.serve();
    await starting;
    return this.last;
  }

  async serve(): Promise<void> {
    this.last.load();
    await this.awaitTurns();
    this.last.parent.ready({ port: 8081 });
    await this.awaitTurns();
  }

  async awaitTurns(): Promise<void> {
    for (let i = 0; i < 6; i += 1) await turn();
  }

  async pass(ms: number): Promise<void> {
    for (let leftMs = ms; leftMs > 0; leftMs -= 500) {
      this.clock.advance(Math.min(leftMs, 500));
      await this.awaitTurns();
    }
  }

  logged(message: string): Record<string, unknown>[] {
    return this.log.lines.filter((line) => line.message === message).map(({ fields }) => ({ ...fields }));
  }

  #fork(): FakeChild<Kind> {
    const fault = this.noProcess;
    this.noProcess = null;
    if (fault !== null) throw fault;
    const fork = new FakeChild<Kind>(this.clock, 100 + this.forks.length);
    this.forks.push(fork);
    return fork;
  }
}

const died = 'edge: died; restarting';
const silent = 'the edge does not start: the edge was silent for 20000 ms';
const notStarted = 'edge: cannot start; will retry';

test('a child receives its task and reports ready, and its facts are listed', async () => {
  const scene = new ChildScene();
  const { child } = scene;
  assert.deepEqual(child.facts, { state: 'down', pid: null, release: null, restarts: 0, sinceMs: null });
  scene.clock.advance(100);
  const starting = child.start();
  assert.equal(child.facts.state, 'starting');
  scene.clock.advance(200);
  await scene.serve();
  assert.deepEqual(await starting, { port: 8081 });
  assert.deepEqual(scene.last.task, { name: 'edge-1', port: 0, failure: null });
  const sinceMs = scene.clock.wallMs() - 200;
  assert.deepEqual(child.facts, { state: 'up', pid: 100, release: '1.2.3', restarts: 0, sinceMs });
  const up = { edge: 'edge-1', pid: 100, port: 8081, start_ms: 200 };
  assert.deepEqual(scene.logged('edge: started'), [up]);
  assert.deepEqual(scene.states, ['starting', 'up']);
});

test('orders and reports are delivered, including those sent before the task', async () => {
  const scene = new ChildScene();
  const starting = scene.child.start();
  scene.child.order('first');
  await scene.serve();
  await starting;
  scene.child.order('second');
  scene.last.parent.report(7);
  await scene.awaitTurns();
  assert.deepEqual([scene.last.asked, scene.reports], [['first', 'second'], [7]]);
});

test('a child without a hello is killed at the deadline, and its start rejects', async () => {
  const scene = new ChildScene();
  const starting = assert.rejects(scene.child.start(), {
    message: silent,
  });
  await scene.pass(startMsMax - 500);
  assert.deepEqual(scene.last.asked, []);
  await scene.pass(500);
  await starting;
  assert.deepEqual(scene.last.asked, ['killed']);
  await scene.pass(startMsMax);
  assert.equal(scene.forks.length, 1, 'a first start is not tried again');
  assert.equal(scene.clock.pendingTimers, 0);
});

test('a restarted child without a hello is retried with growing delays', async () => {
  const scene = new ChildScene();
  (await scene.up()).die('SIGSEGV');
  await scene.awaitTurns();
  assert.equal(scene.forks.length, 2);
  await scene.pass(startMsMax);
  assert.deepEqual(scene.last.asked, ['killed']);
  await scene.pass(500);
  assert.equal(scene.forks.length, 3);
  await scene.pass(startMsMax);
  await scene.pass(500);
  assert.equal(scene.forks.length, 3, 'the wait has doubled');
  await scene.pass(500);
  assert.equal(scene.forks.length, 4);
  await scene.serve();
  const { state, restarts } = scene.child.facts;
  assert.deepEqual([state, restarts], ['up', 3]);
  assert.deepEqual(scene.last.task, { name: 'edge-1', port: 8081, failure: silent });
});

test('a child that cannot be started is logged once for each reason', async () => {
  const scene = new ChildScene();
  const fails = async (reason: string): Promise<void> => {
    scene.last.load();
    await scene.awaitTurns();
    scene.last.fail(reason);
    await scene.awaitTurns();
    await scene.pass(2000);
  };
  (await scene.up()).die('SIGSEGV');
  await scene.awaitTurns();
  for (const reason of ['the store is damaged', 'the store is damaged', 'the port is taken'])
    await fails(reason);
  await scene.serve();
  scene.last.die('SIGSEGV');
  await scene.pass(3000);
  await fails('the port is taken');
  assert.deepEqual(
    scene.logged(notStarted).map(({ err }) => messageOf(err)),
    ['store is damaged', 'port is taken', 'port is taken'].map(
      (why) => `the edge does not start: the ${why}`,
    ),
  );
});

test('a child may block its loop during a start, up to the limit of a start', async () => {
  const scene = new ChildScene();
  const starting = assert.rejects(scene.child.start(), /it was not ready within 20000 ms/);
  scene.last.load();
  await scene.pass(startMsMax - 500);
  assert.deepEqual(scene.last.asked, []);
  await scene.pass(1000);
  await starting;
  assert.deepEqual(scene.last.asked, ['killed']);
});

for (const [name, why, end] of [
  ['says why', 'edge.listen is taken', (fork: FakeChild<Kind>) => fork.fail('edge.listen is taken')],
  ['dies', 'exit code 1: its last words', (fork: FakeChild<Kind>) => fork.die('exit code 1: its last words')],
] as const)
  test(`a first start in which the child ${name} rejects with the reason`, async () => {
    const scene = new ChildScene();
    const starting = assert.rejects(scene.child.start(), { message: `the edge does not start: ${why}` });
    scene.last.load();
    await scene.awaitTurns();
    end(scene.last);
    await starting;
    assert.equal(scene.child.facts.state, 'down');
    await scene.pass(startMsMax);
    assert.equal(scene.forks.length, 1);
  });

test('a first start rejects when no process can be created', async () => {
  const scene = new ChildScene();
  scene.noProcess = new Error('no process can be started: too many open files');
  await assert.rejects(scene.child.start(), { message: 'no process can be started: too many open files' });
  assert.equal(scene.child.facts.state, 'down');
});

test('a child without a heartbeat for 5 s is killed and restarted at once', async () => {
  const scene = new ChildScene();
  const fork = await scene.up();
  await scene.pass(60_000);
  assert.deepEqual(fork.asked, []);
  fork.isHung = true;
  await scene.pass(childBounds.silenceMsMax + 1000);
  assert.deepEqual(fork.asked, ['killed']);
  const [death] = scene.logged(died);
  const { why, how, restart_ms } = death ?? {};
  assert.deepEqual([why, how, restart_ms], ['the edge was silent for 5000 ms', 'SIGKILL', 0]);
  assert.equal(scene.forks.length, 2);
});

test('a child in a long turn shows its progress, and is not killed', async () => {
  const scene = new ChildScene();
  const fork = await scene.up();
  fork.isHung = true;
  for (let second = 0; second < 60; second += 1) {
    await scene.pass(1000);
    fork.progress.advance();
    await scene.awaitTurns();
  }
  assert.deepEqual(fork.asked, []);
});

test('a suspended supervisor takes no child for dead', async () => {
  const scene = new ChildScene();
  const fork = await scene.up();
  for (let stop = 0; stop < 20; stop += 1) {
    scene.clock.stall(60_000);
    await scene.awaitTurns();
  }
  assert.deepEqual(fork.asked, []);
});

test('a child survives a suspended supervisor', async () => {
  const clock = new DrivenClock();
  const fork = new FakeChild<Kind>(clock, 100).load();
  for (let second = 0; second < 600; second += 1) {
    clock.advance(1000);
    await turn();
  }
  assert.deepEqual([fork.asked, fork.refusal], [[], null]);
  fork.pair.here.destroy();
  assert.equal(await fork.ended, 'exit code 0');
  assert.equal(clock.pendingTimers, 0);
});

test('the restart delay of children that die soon after their start grows up to a limit', async () => {
  const scene = new ChildScene();
  await scene.up();
  for (let death = 0; death < 5; death += 1) {
    scene.last.die('SIGSEGV');
    await scene.awaitTurns();
    await scene.pass(Number(scene.logged(died).at(-1)?.['restart_ms']));
    await scene.serve();
  }
  await scene.pass(10_000);
  scene.last.die('SIGSEGV');
  await scene.awaitTurns();
  assert.deepEqual(
    scene.logged(died).map(({ restart_ms }) => restart_ms),
    [0, 500, 1000, 2000, 2000, 0],
  );
  assert.equal(scene.child.facts.restarts, 6);
});

test('the owner receives the reason of a death, and may stop the child without a restart', async () => {
  const scene = new ChildScene();
  const fork = await scene.up();
  scene.onDeath = () => scene.child.close();
  fork.fail('edge.listen is taken');
  await scene.awaitTurns();
  assert.deepEqual(scene.deaths, ['edge.listen is taken']);
  await scene.pass(startMsMax);
  assert.equal(scene.forks.length, 1);
});

test('a restart is retried when no process can be created', async () => {
  const scene = new ChildScene();
  const fork = await scene.up();
  scene.noProcess = new Error('no process can be started: too many open files');
  fork.die('SIGSEGV');
  await scene.awaitTurns();
  assert.equal(scene.child.facts.state, 'down');
  assert.equal(scene.logged(notStarted).length, 1);
  await scene.pass(500);
  await scene.serve();
  assert.equal(scene.child.facts.state, 'up');
});

test('a stop sends an order, and waits for the end', async () => {
  const scene = new ChildScene();
  const fork = await scene.up();
  let isDrained = false;
  await scene.child.stop(stopMsMax, async () => {
    await turn();
    assert.deepEqual([fork.asked, scene.child.facts.state], [[], 'stopping']);
    isDrained = true;
  });
  assert.ok(isDrained);
  assert.deepEqual(fork.asked, ['stop']);
  await scene.pass(10_000);
  assert.deepEqual([scene.forks.length, scene.logged(died)], [1, []]);
  assert.equal(scene.clock.pendingTimers, 0);
});

test('a child that does not stop in time is killed', async () => {
  const scene = new ChildScene();
  const fork = await scene.up();
  fork.isStuck = true;
  const stopping = scene.child.stop(stopMsMax);
  await scene.pass(stopMsMax - 1);
  assert.deepEqual(fork.asked, ['stop']);
  await scene.pass(1);
  await stopping;
  assert.deepEqual(fork.asked, ['stop', 'killed']);
  assert.equal(scene.logged('edge: did not stop in time; killed').length, 1);
});

test('a stop kills a child without a hello at once, and cancels a pending restart', async () => {
  const loading = new ChildScene();
  const starting = assert.rejects(loading.child.start(), { message: 'the edge does not start: SIGKILL' });
  await loading.child.stop(stopMsMax);
  await starting;
  assert.deepEqual(loading.last.asked, ['killed']);

  const waiting = new ChildScene();
  (await waiting.up()).die('SIGSEGV');
  await waiting.awaitTurns();
  waiting.last.die('SIGSEGV');
  await waiting.awaitTurns();
  await waiting.child.stop(stopMsMax);
  await waiting.pass(10_000);
  assert.equal(waiting.forks.length, 2);
  for (const { clock } of [loading, waiting]) assert.equal(clock.pendingTimers, 0);
});

test('a close kills a child at once, without a restart', async () => {
  const scene = new ChildScene();
  const fork = await scene.up();
  scene.child.close();
  await scene.pass(10_000);
  assert.deepEqual([fork.asked, scene.forks.length], [['killed'], 1]);
});

const strangers: readonly (readonly [name: string, message: string, why: string])[] = [
  [
    'of another version',
    JSON.stringify({ kind: 'hello', version: childVersion + 1, release: '9.0.0' }),
    `the edge speaks version ${childVersion + 1} of a supervisor's messages, and this end version ${childVersion}`,
  ],
  [
    'that begins otherwise',
    '{"kind":"ready"}',
    'the edge sent a message unknown between a child and its supervisor',
  ],
  ['of no object', 'null', 'the edge sent a message unknown between a child and its supervisor'],
];
for (const [name, message, why] of strangers)
  test(`a child ${name} is refused with a sentence`, async () => {
    const scene = new ChildScene();
    const starting = assert.rejects(scene.child.start(), { message: `the edge does not start: ${why}` });
    scene.last.pair.there.write(encodeLengthFrame(Buffer.from(message)));
    await starting;
    assert.deepEqual(scene.last.asked, ['killed']);
  });

test('a compromised child is killed for its first malformed or oversized message', async () => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(childBounds.messageBytesMax + 1);
  const messages = ['{', '[]', '{"kind":"hello"}', '{"kind":"__proto__"}'];
  for (const bytes of [length, ...messages.map((text) => encodeLengthFrame(Buffer.from(text)))]) {
    const scene = new ChildScene();
    const fork = await scene.up();
    fork.pair.there.write(bytes);
    await scene.awaitTurns();
    assert.deepEqual(fork.asked, ['killed'], String(bytes));
    assert.match(String(scene.logged(died)[0]?.['why']), /^the edge sent /);
  }
});

test('a child refused by its supervisor ends by itself, with the sentence', async () => {
  const clock = new DrivenClock();
  const fork = new FakeChild<Kind>(clock, 100).load();
  const hello = JSON.stringify({ kind: 'hello', version: childVersion + 1 });
  fork.pair.here.write(encodeLengthFrame(Buffer.from(hello)));
  assert.equal(await fork.ended, 'exit code 0');
  assert.match(fork.refusal ?? '', /^the supervisor speaks version \d+ of a supervisor's messages/);
});
