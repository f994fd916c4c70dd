import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SessionId } from '../../../../src/model/ids.ts';
import { viewerTicketsMax } from '../../../../src/model/limits.ts';
import { ViewerTickets, WatchKeys } from '../../../../src/core/calls/viewers.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { CallScene, orderForRoom } from '../../../support/call-scene.ts';

const session = 'session-1' as SessionId;
const otherSession = 'session-2' as SessionId;

function issued(tickets: ViewerTickets, sessionId = session): string {
  const given = tickets.issue(sessionId);
  assert.ok(given !== null, 'there is room');
  return given.ticket;
}

test('a ticket is good once, for its session', () => {
  const tickets = new ViewerTickets(new DrivenClock());
  const [first, second] = [issued(tickets), issued(tickets, otherSession)];
  assert.equal(tickets.take(second), otherSession);
  assert.equal(tickets.take(second), null);
  assert.equal(tickets.take(first), session);
  assert.equal(tickets.take(first), null);
});

test('a ticket is 32 random bytes as base64url, and says when it ends by the wall clock', () => {
  const clock = new DrivenClock(1_800_000_000_000);
  const tickets = new ViewerTickets(clock);
  clock.advance(500);
  const given = tickets.issue(session);
  assert.ok(given !== null);
  assert.match(given.ticket, /^[\w-]{43}$/);
  assert.equal(given.expiresAtMs, 1_800_000_060_500);
  assert.notEqual(given.ticket, issued(tickets));
});

for (const text of ['', 'guessed', 'A'.repeat(43), '__proto__'])
  test(`what is no ticket lets nobody watch: ${JSON.stringify(text)}`, () => {
    const tickets = new ViewerTickets(new DrivenClock());
    issued(tickets);
    assert.equal(tickets.take(text), null);
  });

test('a ticket is good for 60 s, whatever the wall clock does', () => {
  const clock = new DrivenClock();
  const tickets = new ViewerTickets(clock);
  const [first, second] = [issued(tickets), issued(tickets)];
  clock.stepWall(3_600_000);
  clock.advance(59_999);
  assert.equal(tickets.take(first), session);
  clock.stepWall(-7_200_000);
  clock.advance(1);
  assert.equal(tickets.take(second), null);
});

test('as many as may be about: none is given until one is used or too old', () => {
  const clock = new DrivenClock();
  const tickets = new ViewerTickets(clock, 2);
  const first = issued(tickets);
  clock.advance(10_000);
  issued(tickets);
  assert.equal(tickets.issue(session), null);
  assert.equal(tickets.take(first), session);
  issued(tickets);
  assert.equal(tickets.issue(session), null);
  clock.advance(50_000);
  assert.equal(tickets.issue(session), null, 'the oldest has 10 s left');
  clock.advance(10_000);
  issued(tickets);
  issued(tickets);
  assert.equal(tickets.issue(session), null);
});

test('a thousand tickets may be about', () => {
  const tickets = new ViewerTickets(new DrivenClock());
  const given = new Set(Array.from({ length: viewerTicketsMax }, () => issued(tickets)));
  assert.equal(given.size, 1000);
  assert.equal(tickets.issue(session), null);
});

test('a holder has one ticket, also among as many as may be about, and a used one is no loss', () => {
  const clock = new DrivenClock();
  const tickets = new ViewerTickets(clock, 2);
  const held = (): string => tickets.issue(session, 'page')?.ticket ?? assert.fail('there is room');
  const [first, , third] = [held(), held(), held()];
  const other = issued(tickets, otherSession);
  assert.equal(tickets.issue(session), null);
  assert.equal(tickets.take(first), null);
  const fourth = held();
  assert.equal(tickets.take(third), null, 'it made room for its own successor');
  assert.equal(tickets.take(other), otherSession);
  assert.equal(tickets.take(fourth), session);
  clock.advance(60_000);
  assert.equal(tickets.take(held()), session);
});

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
