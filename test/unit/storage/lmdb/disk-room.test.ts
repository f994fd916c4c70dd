import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { probeDisk } from '../../../../src/storage/lmdb/disk-room.ts';
import { temporaryDirectory } from '../../../support/temporary-store.ts';

test('a probe of a healthy disk succeeds and leaves no file', async (t) => {
  const directory = temporaryDirectory(t);
  const before = readdirSync(directory);
  assert.equal(await probeDisk(directory), null);
  assert.deepEqual(readdirSync(directory), before);
});

test("a probe of a failing disk returns the system's error", async (t) => {
  assert.match((await probeDisk(join(temporaryDirectory(t), 'gone')))?.message ?? '', /^ENOENT/);
});
