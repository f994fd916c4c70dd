import assert from 'node:assert/strict';
import { readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { open, type RootDatabase } from 'lmdb';
import { CommitOrder, outOfOrder } from '../../../../src/storage/lmdb/commit-order.ts';
import { setBack } from '../../../support/damaged-store.ts';
import { temporaryDirectory } from '../../../support/temporary-store.ts';

async function openOrdered(t: TestContext) {
  const path = join(temporaryDirectory(t), 'x.mdb');
  const root = open<number, Buffer>({ path, keyEncoding: 'binary', eventTurnBatching: false });
  t.after(() => root.close());
  const put = async (number: number): Promise<void> => void (await root.put(Buffer.from([number]), number));
  for (const number of [1, 2, 3]) await put(number);
  return { path, root, put, order: new CommitOrder(root, path) };
}

for (const behind of [1, 2])
  test(`a note that is ${behind} behind is set right, and the next commit is in order`, async (t) => {
    const { path, root, put, order } = await openOrdered(t);
    setBack(t, path, behind);
    order.restore();
    await put(4);
    root.resetReadTxn();
    assert.deepEqual(
      [1, 2, 3, 4].map((number) => root.get(Buffer.from([number]))),
      [1, 2, 3, 4],
    );
  });

test('a transaction is out of order once, and does not give up the lock on the file', async (t) => {
  const { path, root, order } = await openOrdered(t);
  setBack(t, path, 1);
  const run = (): unknown => root.transactionSync(() => order.inOrder(() => 'run'));
  assert.deepEqual([run(), run()], [outOfOrder, 'run']);
  const held = readFileSync('/proc/locks', 'utf8')
    .split('\n')
    .filter(
      (line) => line.includes(` ${process.pid} `) && line.includes(`:${statSync(`${path}-lock`).ino} `),
    );
  assert.notEqual(held.length, 0);
});

test('a commit that lasts while its files are removed does not end the process', async (t) => {
  const { path, order, put } = await openOrdered(t);
  setBack(t, path, 1);
  rmSync(path);
  rmSync(`${path}-lock`);
  assert.equal(order.readable, null);
  order.restore();
  assert.notEqual(order.readable, null);
  await put(4);
});

for (const platform of ['darwin', 'win32'])
  test(`on ${platform}, where it was not tried, it neither throws nor looks at the lock file`, (t) => {
    const root = new Proxy(
      {},
      { get: (_root, name) => assert.fail(`${String(name)} of the package is read`) },
    );
    const nowhere = join(temporaryDirectory(t), 'nowhere.mdb');
    const order = new CommitOrder(root as RootDatabase<unknown, Buffer>, nowhere, platform);
    const every = t.mock.method(globalThis, 'setInterval');
    assert.equal(
      order.inOrder(() => 'run'),
      'run',
    );
    order.restore();
    order.watch();
    order.rest();
    assert.equal(every.mock.callCount(), 0);
  });
