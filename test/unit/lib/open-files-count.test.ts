import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { countOpenFiles } from '../../../src/lib/open-files-count.ts';

const skip = process.platform !== 'linux';

test('every open descriptor counts', { skip }, async (t) => {
  // In a process of its own: other test files of this process open and close descriptors meanwhile.
  const open = "for (let left = 100; left > 0; left -= 1) fs.openSync('/dev/null', 'r')";
  const child = spawn(process.execPath, [
    '-e',
    `process.stdin.once('data', () => { ${open}; console.log() }); console.log()`,
  ]);
  t.after(() => child.kill());
  const directory = `/proc/${child.pid}/fd`;
  await once(child.stdout, 'data');
  const before = await countOpenFiles(directory);
  child.stdin.write('\n');
  await once(child.stdout, 'data');
  assert.equal(await countOpenFiles(directory), (before ?? 0) + 100);
});

test('entries are counted if the system reports no size', { skip }, async () => {
  const directory = '/proc/self/task';
  assert.equal(await countOpenFiles(directory), readdirSync(directory).length);
});

test('the count is unknown without such a directory', async () => {
  assert.equal(await countOpenFiles('/proc/none'), null);
});
