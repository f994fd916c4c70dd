import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { livingPid, ServerLock } from '../../../../src/storage/lmdb/data-directory.ts';
import { StoreOpenError } from '../../../../src/storage/lmdb/store-format.ts';
import { temporaryDirectory } from '../../../support/temporary-store.ts';

const hasProcessFiles = existsSync('/proc/self/stat');

test('a lock names its process, and is removed when released', (t) => {
  const directory = temporaryDirectory(t);
  assert.equal(livingPid(directory), null);
  const lock = new ServerLock(directory);
  assert.deepEqual(readdirSync(directory), ['server.lock']);
  if (hasProcessFiles) assert.equal(livingPid(directory), process.pid);
  lock.release();
  assert.deepEqual(readdirSync(directory), []);
});

test('a lock of another living process is refused with its id and advice', async (t) => {
  const directory = temporaryDirectory(t);
  const other = spawn(process.execPath, ['-e', 'process.stdin.resume()']);
  await once(other, 'spawn');
  const path = join(directory, 'server.lock');
  writeFileSync(path, JSON.stringify({ pid: other.pid, start: null }));
  assert.throws(
    () => new ServerLock(directory),
    (error) =>
      error instanceof StoreOpenError &&
      error.message.includes(`process ${other.pid}:`) &&
      error.message.includes(path),
  );
  other.stdin.end();
  await once(other, 'exit');
  new ServerLock(directory).release();
});

test('one process cannot lock a directory twice', { skip: !hasProcessFiles }, (t) => {
  const directory = temporaryDirectory(t);
  const lock = new ServerLock(directory);
  assert.throws(() => new ServerLock(directory), StoreOpenError);
  lock.release();
});

for (const [what, text] of [
  ['whose process id now names a later process', JSON.stringify({ pid: process.pid, start: '1' })],
  ['that is cut short', '{"pid":'],
  ['that is empty', ''],
] as const)
  test(`a lock ${what} is stale and taken over`, { skip: !hasProcessFiles }, (t) => {
    const directory = temporaryDirectory(t);
    writeFileSync(join(directory, 'server.lock'), text);
    const lock = new ServerLock(directory);
    assert.equal(livingPid(directory), process.pid);
    lock.release();
    assert.deepEqual(readdirSync(directory), []);
  });

test('a lock with another owner is not released', (t) => {
  const directory = temporaryDirectory(t);
  const lock = new ServerLock(directory);
  const path = join(directory, 'server.lock');
  writeFileSync(path, 'of another');
  lock.release();
  assert.equal(readFileSync(path, 'utf8'), 'of another');
});

test(
  'the lock of a killed process that is not reaped yet is stale',
  { skip: !hasProcessFiles },
  async (t) => {
    const directory = temporaryDirectory(t);
    // The shell starts a process, prints its id, and becomes a program that never reaps it.
    const script = 'cat <&3 3<&- & echo $!; exec cat 3<&-';
    const parent = spawn('sh', ['-c', script], { stdio: ['pipe', 'pipe', 'inherit', 'pipe'] });
    const { stdin, stdout } = parent;
    const childInput = parent.stdio[3];
    assert.ok(stdin !== null && stdout !== null && childInput !== null && childInput !== undefined);
    const [printed] = (await once(stdout, 'data')) as [Buffer];
    stdin.write('a line');
    await once(stdout, 'data');
    childInput.destroy();
    const pid = Number(printed.toString());
    const state = (): string => readFileSync(`/proc/${pid}/stat`, 'latin1').replace(/^.*\) (.).*$/s, '$1');
    while (state() !== 'Z') spawnSync('true');
    writeFileSync(join(directory, 'server.lock'), JSON.stringify({ pid, start: null }));
    new ServerLock(directory).release();
    stdin.end();
    await once(parent, 'exit');
  },
);
