import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'node:test';
import { edgeLinkVersion } from '../../../../src/protocol/edge-link/edge-message.ts';
import { ChildLife } from '../../../../src/server/children/child-life.ts';
import { SupervisedChild } from '../../../../src/server/children/child.ts';
import type {
  CoreChildKind,
  CoreLife,
  CoreTask,
  SuccessorFacts,
} from '../../../../src/server/site/core-task.ts';
import { CoreUpgrade } from '../../../../src/server/site/core-upgrade.ts';
import {
  coreListenMsMax,
  coreStartMsMax,
  handOverMsMax,
  successorLoadMsMax,
} from '../../../../src/server/site/site-limits.ts';
import { SiteUpgrade } from '../../../../src/server/site/site-upgrade.ts';
import { linkVersion } from '../../../../src/protocol/media-link/link-message.ts';
import { storeFormat } from '../../../../src/storage/lmdb/store-format.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeChild } from '../../../support/fake-children.ts';
import { FakeLog } from '../../../support/fakes.ts';

const listen = { host: '127.0.0.1', port: 8080 };
const task: CoreTask = {
  listeners: { api: listen, sleep: listen, signal: listen, media: listen, ops: listen },
  edgeSocket: '/data/edges-1.sock',
  mediaSockets: [],
  isFirst: false,
  isSuccessor: true,
  failure: null,
};
const facts: SuccessorFacts = {
  storeFormat,
  dataDirectory: '/data',
  edgeLinks: [edgeLinkVersion],
  mediaLinks: [linkVersion],
};
const leaveMsMax = 35_000;

class UpgradeScene {
  readonly clock = new DrivenClock();
  readonly log = new FakeLog();
  readonly forks: FakeChild<CoreChildKind>[] = [];
  readonly core: SupervisedChild<CoreChildKind>;
  readonly upgrade: SiteUpgrade;
  sharesPorts = true;
  /** Rejects with it. */
  edgeFault: Error | null = null;
  edgesReplaced = 0;
  sparesRenewed = 0;

  constructor() {
    const { clock, log } = this;
    this.core = new SupervisedChild<CoreChildKind>({
      clock,
      log,
      name: 'core',
      fields: {},
      restartMs: { min: 100, max: 1000 },
      launch: () => this.#launch(),
      task: (_life, last) => ({ ...task, isFirst: last === null, isSuccessor: false }),
      reported: (report) => this.upgrade.report(report),
    });
    this.upgrade = new SiteUpgrade({
      log,
      upgradeCore: () => this.#upgradeCore(),
      replaceEdges: async () => {
        if (this.edgeFault !== null) throw this.edgeFault;
        this.edgesReplaced += 1;
      },
      changed: () => undefined,
    });
  }

  /** A serving core. */
  static async up(): Promise<UpgradeScene> {
    const scene = new UpgradeScene();
    const starting = scene.core.start();
    scene.serving.load();
    await scene.awaitTurns();
    scene.serving.parent.ready({});
    await starting;
    return scene;
  }

  get serving(): FakeChild<CoreChildKind> {
    return this.forks[0] ?? assert.fail('a core was started');
  }

  get successor(): FakeChild<CoreChildKind> {
    return this.forks[1] ?? assert.fail('a successor was started');
  }

  /** An operator asks for an upgrade. */
  async ask(edges = false): Promise<void> {
    this.serving.parent.report({ kind: 'upgrade', edges });
    await this.awaitTurns();
  }

  /** The successor has loaded. */
  async prepare(given: Partial<SuccessorFacts> = {}): Promise<void> {
    this.successor.load('2.0.0');
    await this.awaitTurns();
    this.successor.parent.report({ kind: 'prepared', facts: { ...facts, ...given } });
    await this.awaitTurns();
  }

  async leave(): Promise<void> {
    this.serving.parent.report({ kind: 'left' });
    await this.awaitTurns();
  }

  async listen(): Promise<void> {
    this.successor.parent.report({ kind: 'listening' });
    await this.awaitTurns();
  }

  async awaitTurns(): Promise<void> {
    for (let i = 0; i < 8; i += 1) await turn();
  }

  async pass(ms: number): Promise<void> {
    for (let leftMs = ms; leftMs > 0; leftMs -= 500) {
      this.clock.advance(Math.min(leftMs, 500));
      await this.awaitTurns();
    }
  }

  orders(child: FakeChild<CoreChildKind>): string[] {
    return child.asked.map((order) =>
      typeof order === 'string' ? order : (order as { readonly kind: string }).kind,
    );
  }

  /** The upgrade failed for this reason, and the old core still serves. */
  assertUnchanged(failure: string, orders: readonly string[]): void {
    assert.deepEqual(this.upgrade.state, { isUnderWay: false, failure });
    assert.deepEqual(this.orders(this.serving), orders);
    assert.equal(this.core.facts.pid, this.serving.pid);
    assert.equal(this.orders(this.successor).at(-1), 'killed');
  }

  #upgradeCore(): CoreUpgrade {
    const { clock, log, core, sharesPorts } = this;
    return new CoreUpgrade({
      clock,
      log,
      core,
      spare: { renew: () => (this.sparesRenewed += 1) },
      dataDirectory: '/data',
      leaveMsMax,
      sharesPorts,
      task,
      launch: () => this.#launch(),
      reported: (report) => this.upgrade.report(report),
    });
  }

  #launch(): CoreLife {
    const { clock } = this;
    const fork = new FakeChild<CoreChildKind>(clock, 100 + this.forks.length);
    this.forks.push(fork);
    return new ChildLife(fork, { clock, name: 'core', startMsMax: coreStartMsMax });
  }
}

test('the successor listens once the core has left, and serves once it has ended', async () => {
  const scene = await UpgradeScene.up();
  await scene.ask();
  assert.deepEqual(scene.upgrade.state, { isUnderWay: true, failure: null });
  await scene.prepare();
  assert.deepEqual(scene.successor.task, task);
  assert.deepEqual(scene.orders(scene.serving), ['leave']);
  assert.deepEqual(scene.orders(scene.successor), []);
  await scene.leave();
  assert.deepEqual(scene.orders(scene.successor), ['listen']);
  assert.deepEqual(scene.orders(scene.serving), ['leave']);
  await scene.listen();
  assert.deepEqual(scene.orders(scene.serving), ['leave', 'hand-over']);
  assert.deepEqual(scene.orders(scene.successor), ['listen']);
  scene.serving.die('exit code 0');
  await scene.awaitTurns();
  assert.deepEqual(scene.orders(scene.successor), ['listen', 'serve']);
  assert.equal(scene.core.facts.state, 'starting');
  scene.clock.advance(300);
  scene.successor.parent.ready({});
  await scene.awaitTurns();
  assert.deepEqual(scene.upgrade.state, { isUnderWay: false, failure: null });
  const { state, pid, release, restarts } = scene.core.facts;
  assert.deepEqual([state, pid, release, restarts], ['up', 101, '2.0.0', 0]);
  const served = scene.log.lines.find(({ message }) => message === 'upgrade: new release serves');
  assert.deepEqual(served?.fields, { pid: 101, version: '2.0.0', held_ms: 300 });
  assert.equal(scene.edgesReplaced, 0);
  assert.equal(scene.sparesRenewed, 1);
});

test('the new core is upgraded and restarted like its predecessor', async () => {
  const scene = await UpgradeScene.up();
  await scene.ask();
  await scene.prepare();
  await scene.leave();
  await scene.listen();
  scene.serving.die('exit code 0');
  await scene.awaitTurns();
  scene.successor.parent.ready({});
  await scene.awaitTurns();
  scene.successor.parent.report({ kind: 'upgrade', edges: false });
  await scene.awaitTurns();
  assert.equal(scene.forks.length, 3);
  await scene.pass(successorLoadMsMax);
  scene.successor.die('SIGSEGV');
  await scene.awaitTurns();
  assert.equal(scene.forks.length, 4);
  assert.equal(scene.core.facts.restarts, 1);
});

test('the successor listens after the core has ended if ports cannot be shared', async () => {
  const scene = await UpgradeScene.up();
  scene.sharesPorts = false;
  await scene.ask();
  await scene.prepare();
  await scene.leave();
  assert.deepEqual(scene.orders(scene.serving), ['leave', 'hand-over']);
  assert.deepEqual(scene.orders(scene.successor), []);
  scene.serving.die('exit code 0');
  await scene.awaitTurns();
  await scene.listen();
  assert.deepEqual(scene.orders(scene.successor), ['listen', 'serve']);
});

test('a release without a hello, or not prepared in time, changes nothing', async () => {
  for (const loads of [false, true]) {
    const scene = await UpgradeScene.up();
    await scene.ask();
    if (loads) scene.successor.load();
    await scene.pass(successorLoadMsMax);
    scene.assertUnchanged(`no report "prepared" within ${successorLoadMsMax} ms`, ['stay']);
  }
});

test('a release that ends, or reports why it cannot serve, changes nothing', async () => {
  const scene = await UpgradeScene.up();
  await scene.ask();
  scene.successor.load().fail('sleep.listen: is no address');
  await scene.awaitTurns();
  scene.assertUnchanged('sleep.listen: is no address', ['stay']);
  const other = await UpgradeScene.up();
  await other.ask();
  other.successor.die('exit code 2: no such file');
  await other.awaitTurns();
  assert.equal(other.upgrade.state.failure, 'exit code 2: no such file');
  assert.equal(other.core.facts.pid, other.serving.pid);
});

for (const [given, failure] of [
  [{ storeFormat: storeFormat + 1 }, /another store format/],
  [{ dataDirectory: '/other' }, /data\.dir has changed/],
  [{ edgeLinks: [edgeLinkVersion + 1] }, /does not support the edges/],
  [{ mediaLinks: [linkVersion + 1] }, /does not support the media processes/],
] as const)
  test(`a release with an incompatible ${Object.keys(given).join()} is refused`, async () => {
    const scene = await UpgradeScene.up();
    await scene.ask();
    await scene.prepare(given);
    assert.match(scene.upgrade.state.failure ?? '', failure);
    scene.assertUnchanged(scene.upgrade.state.failure ?? '', ['stay']);
  });

test('a core that does not leave, or a successor that does not listen, fails the upgrade without a change', async () => {
  const scene = await UpgradeScene.up();
  await scene.ask();
  await scene.prepare();
  await scene.pass(leaveMsMax);
  scene.assertUnchanged(`no report "left" within ${leaveMsMax} ms`, ['leave', 'stay']);
  const other = await UpgradeScene.up();
  await other.ask();
  await other.prepare();
  await other.leave();
  await other.pass(coreListenMsMax);
  other.assertUnchanged(`no report "listening" within ${coreListenMsMax} ms`, ['leave', 'stay']);
});

test('a core that dies while its successor is prepared is restarted', async () => {
  const scene = await UpgradeScene.up();
  await scene.ask();
  scene.serving.die('SIGSEGV');
  await scene.awaitTurns();
  assert.match(scene.upgrade.state.failure ?? '', /the core that serves has died: SIGSEGV/);
  assert.equal(scene.forks.length, 3);
  const again = scene.forks[2]?.load();
  await scene.awaitTurns();
  assert.equal(again?.task?.isSuccessor, false);
});

test('a core that does not end in time is killed, and its successor serves', async () => {
  const scene = await UpgradeScene.up();
  await scene.ask();
  await scene.prepare();
  await scene.leave();
  await scene.listen();
  await scene.pass(handOverMsMax);
  assert.deepEqual(scene.orders(scene.serving), ['leave', 'hand-over', 'killed']);
  assert.deepEqual(scene.orders(scene.successor), ['listen', 'serve']);
});

test('a successor that cannot serve is restarted like a core that has died', async () => {
  const scene = await UpgradeScene.up();
  await scene.ask();
  await scene.prepare();
  await scene.leave();
  await scene.listen();
  scene.serving.die('exit code 0');
  await scene.awaitTurns();
  scene.successor.fail('the store is damaged');
  await scene.awaitTurns();
  await scene.pass(1000);
  assert.equal(
    scene.upgrade.state.failure,
    'the new release does not serve; the core restarts: the store is damaged',
  );
  assert.equal(scene.forks.length, 3);
});

test('a running upgrade cannot be begun again, and ends at a stop', async () => {
  const scene = await UpgradeScene.up();
  await scene.ask();
  await scene.ask();
  assert.equal(scene.forks.length, 2);
  await scene.upgrade.giveUp();
  await scene.awaitTurns();
  scene.assertUnchanged('the server is being stopped', ['stay']);
});

test('a stop waits for a hand-over in progress', async () => {
  const scene = await UpgradeScene.up();
  await scene.ask();
  await scene.prepare();
  await scene.leave();
  await scene.listen();
  let isOver = false;
  void scene.upgrade.giveUp().then(() => (isOver = true));
  await scene.awaitTurns();
  assert.equal(isOver, false);
  scene.serving.die('exit code 0');
  await scene.awaitTurns();
  scene.successor.parent.ready({});
  await scene.awaitTurns();
  assert.equal(isOver, true);
});

test('edges are replaced after the core, on request', async () => {
  const scene = await UpgradeScene.up();
  scene.edgeFault = new Error('the edge does not start: exit code 1');
  await scene.ask(true);
  await scene.prepare();
  await scene.leave();
  await scene.listen();
  scene.serving.die('exit code 0');
  await scene.awaitTurns();
  scene.successor.parent.ready({});
  await scene.awaitTurns();
  assert.deepEqual(scene.upgrade.state, {
    isUnderWay: false,
    failure: 'the edge does not start: exit code 1',
  });
  assert.equal(scene.core.facts.pid, scene.successor.pid);
});
