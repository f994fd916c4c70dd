import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boundSessions, readOpenFilesLimit } from '../../../src/sleep-gateway/open-files-limit.ts';

test('the sleep port leaves 1024 descriptors to the rest of the process', () => {
  assert.equal(boundSessions(1_000_000, 20_000), 18_976);
});

test('a setting below the limit stands', () => {
  assert.equal(boundSessions(500, 20_000), 500);
  assert.equal(boundSessions(500, Infinity), 500);
});

test('a process with too few descriptors takes no session rather than starve', () => {
  assert.equal(boundSessions(500, 1000), 0);
});

test('the limit of this process can be read', () => {
  assert(readOpenFilesLimit() > 0);
});
