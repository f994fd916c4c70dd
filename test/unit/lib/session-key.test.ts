import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generateSessionKey, sessionKeyLength } from '../../../src/lib/session-key.ts';

test('a session key is 32 characters of the base64url alphabet', () => {
  for (let i = 0; i < 1000; i++) assert.match(generateSessionKey(), /^[A-Za-z0-9_-]{32}$/);
  assert.equal(sessionKeyLength, 32);
});

test('session keys are unique across refills of the pool', () => {
  const keys = new Set(Array.from({ length: 5000 }, generateSessionKey));
  assert.equal(keys.size, 5000);
});
