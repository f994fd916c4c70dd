import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boundSessions, readOpenFilesLimit } from '../../../src/lib/open-files-limit.ts';

test('a listener leaves the reserved descriptors to the rest of the process', () => {
  assert.equal(boundSessions(1_000_000, 20_000, 1024), 18_976);
});

test('a setting below the limit applies', () => {
  assert.equal(boundSessions(500, 20_000, 1024), 500);
  assert.equal(boundSessions(500, Infinity, 1024), 500);
});

test('a process with too few descriptors accepts no session rather than starve', () => {
  assert.equal(boundSessions(500, 1000, 1024), 0);
});

test('the limit of this process can be read', () => {
  assert(readOpenFilesLimit() > 0);
});
