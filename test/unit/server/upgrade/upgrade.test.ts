import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handOverVersion, type SuccessorFacts } from '../../../../src/server/upgrade/hand-over-messages.ts';
import type { Successor } from '../../../../src/server/upgrade/successor.ts';
import { Upgrade, type UpgradeDeps } from '../../../../src/server/upgrade/upgrade.ts';
import { storeFormat } from '../../../../src/storage/lmdb/store-format.ts';
import type { RunningServer } from '../../../../src/server/bootstrap/server.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeLog } from '../../../support/fakes.ts';

const facts: SuccessorFacts = {
  handOver: handOverVersion,
  version: '2.0.0',
  pid: 4711,
  storeFormat,
  dataDirectory: '/data',
};

class FakeSuccessor implements Successor {
  readonly pid = 4711;
  readonly #loaded: () => Promise<SuccessorFacts>;
  isKilled = false;
  killed = (): void => undefined;

  constructor(loaded: () => Promise<SuccessorFacts>) {
    this.#loaded = loaded;
  }

  loaded(): Promise<SuccessorFacts> {
    return this.#loaded();
  }

  order(): Promise<void> {
    return Promise.reject(new Error('nothing is handed over to it'));
  }

  ready(): Promise<number> {
    return Promise.reject(new Error('nothing is handed over to it'));
  }

  readonly relayed = (): Promise<null> => Promise.resolve(null);

  async kill(): Promise<void> {
    this.isKilled = true;
    this.killed();
  }

  leave(): void {}
}

/** A server that must not be touched. */
const untouched = {
  handOver: () => assert.fail('the server is left as it is'),
} as unknown as RunningServer;

function upgradeWith(successor: Successor, deps: Partial<UpgradeDeps> = {}): Upgrade {
  const upgrade = new Upgrade({
    clock: new DrivenClock(),
    log: new FakeLog(),
    dataDirectory: '/data',
    listeners: {} as UpgradeDeps['listeners'],
    obstacle: null,
    startSuccessor: () => successor,
    restart: () => assert.fail('the server never stopped'),
    handedOver: () => assert.fail('it is this server that serves'),
    failed: (error) => assert.fail(String(error)),
    ...deps,
  });
  upgrade.serve(untouched);
  return upgrade;
}

const unfit: readonly (readonly [what: string, facts: Partial<SuccessorFacts>, reason: RegExp])[] = [
  ['another hand-over', { handOver: handOverVersion + 1 }, /takes no sessions over from this one/],
  ['another store format', { storeFormat: storeFormat + 1 }, /another format of the store/],
  ['another data directory', { dataDirectory: '/elsewhere' }, /data\.dir has changed/],
];
for (const [what, other, reason] of unfit)
  void test(`a release with ${what} is ended before anything of the server changes`, async () => {
    const successor = new FakeSuccessor(async () => ({ ...facts, ...other }));
    const upgrade = upgradeWith(successor);
    assert.deepEqual(upgrade.begin(), { ok: true, value: 'sessions' });
    assert.equal(upgrade.state.isUnderWay, true);
    await upgrade.settled();
    assert.equal(upgrade.state.isUnderWay, false);
    assert.match(upgrade.state.failure ?? '', reason);
    assert.equal(successor.isKilled, true);
    assert.equal(upgrade.server, untouched);
  });

void test('a release that cannot be started, or does not load, is said, and the next upgrade may begin', async () => {
  const successor = new FakeSuccessor(() =>
    Promise.reject(new Error('the new release has not loaded within 60 s')),
  );
  const upgrade = upgradeWith(successor);
  upgrade.begin();
  await upgrade.settled();
  assert.equal(upgrade.state.failure, 'the new release has not loaded within 60 s');
  assert.equal(upgrade.begin().ok, true);
  assert.equal(upgrade.state.failure, null);
  await upgrade.settled();
  const none = upgradeWith(successor, {
    startSuccessor: () => {
      throw new Error('spawn EAGAIN');
    },
  });
  none.begin();
  await none.settled();
  assert.equal(none.state.failure, 'spawn EAGAIN');
});

void test('one upgrade is under way at a time, and none where the server says why not', async () => {
  let load: (error: Error) => void = () => undefined;
  const loading = new Promise<SuccessorFacts>((_, reject) => (load = reject));
  const upgrade = upgradeWith(new FakeSuccessor(() => loading));
  assert.equal(upgrade.begin().ok, true);
  assert.deepEqual(upgrade.begin(), { ok: false, error: 'an upgrade is under way' });
  load(new Error('gone'));
  await upgrade.settled();
  const node = upgradeWith(new FakeSuccessor(() => loading), { obstacle: 'restart the nodes' });
  assert.deepEqual(node.begin(), { ok: false, error: 'restart the nodes' });
});

void test('a server that is to stop does not wait for a release that loads', async () => {
  let fail: (error: Error) => void = () => undefined;
  const loading = new Promise<SuccessorFacts>((_, reject) => (fail = reject));
  const successor = new FakeSuccessor(() => loading);
  successor.killed = () => fail(new Error('SIGKILL'));
  const upgrade = upgradeWith(successor);
  upgrade.giveUp();
  upgrade.begin();
  upgrade.giveUp();
  await upgrade.settled();
  assert.equal(upgrade.state.failure, 'SIGKILL');
  assert.equal(upgrade.server, untouched);
});
