import assert from 'node:assert/strict';
import { closeSync, openSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { countOpenFiles } from '../../../src/lib/open-files-count.ts';

const skip = process.platform !== 'linux';

test('every open descriptor counts', { skip }, async (t) => {
  const before = await countOpenFiles();
  const opened = Array.from({ length: 100 }, () => openSync('/dev/null', 'r'));
  t.after(() => {
    for (const descriptor of opened) closeSync(descriptor);
  });
  assert.equal(await countOpenFiles(), (before ?? 0) + opened.length);
});

test('where the system tells no size the entries are counted', { skip }, async () => {
  const directory = '/proc/self/task';
  assert.equal(await countOpenFiles(directory), readdirSync(directory).length);
});

test('where there is no such directory nothing is known', async () => {
  assert.equal(await countOpenFiles('/proc/none'), null);
});
