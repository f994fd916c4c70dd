import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SessionId } from '../../../../src/model/ids.ts';
import { WatchKeys } from '../../../../src/core/calls/watch-keys.ts';
import { CallScene, orderForRoom } from '../../../support/call-scene.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';

const session = 'session-1' as SessionId;
const halfAnHourMs = 30 * 60_000;

test('a key is good for its session, again and again, and no other text is', () => {
  const keys = new WatchKeys(new DrivenClock());
  const [first, second] = [keys.issue(session), keys.issue('session-2' as SessionId)];
  assert.match(first, /^[\w-]{43}$/);
  assert.notEqual(first, second);
  for (let asked = 0; asked < 3; asked++)
    assert.deepEqual([keys.find(first)?.sessionId, keys.find(second)?.sessionId], ['session-1', 'session-2']);
  for (const text of ['', 'guessed', 'A'.repeat(43), '__proto__']) assert.equal(keys.find(text), null, text);
});

test('a key is good for half an hour', () => {
  const clock = new DrivenClock();
  const keys = new WatchKeys(clock);
  const key = keys.issue(session);
  clock.advance(halfAnHourMs - 1);
  assert.ok(keys.find(key) !== null);
  clock.advance(1);
  assert.equal(keys.find(key), null);
});

test('beyond as many as may be, the oldest goes', () => {
  const keys = new WatchKeys(new DrivenClock(), 2);
  const [oldest, older, newest] = [keys.issue(session), keys.issue(session), keys.issue(session)];
  assert.equal(keys.find(oldest), null);
  assert.ok(keys.find(older) !== null);
  assert.ok(keys.find(newest) !== null);
});

test('a key knows why its call ended, and nothing of how it went before', () => {
  const scene = new CallScene();
  const keys = new WatchKeys(scene.clock);
  scene.directory.follow(keys);
  const [watched, other] = [scene.issue(), scene.issue(orderForRoom('room-2'))];
  const key = keys.issue(watched);
  const otherKey = keys.issue(other);
  scene.connectBridge(watched);
  assert.equal(keys.find(key)?.endReason, null);
  scene.directory.end(watched, 'hangup_phone');
  assert.equal(keys.find(key)?.endReason, 'hangup_phone');
  assert.equal(keys.find(otherKey)?.endReason, null);
});
