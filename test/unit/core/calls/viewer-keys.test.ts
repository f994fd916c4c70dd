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
  assert.equal(tickets.redeem(second), otherSession);
  assert.equal(tickets.redeem(second), null);
  assert.equal(tickets.redeem(first), session);
  assert.equal(tickets.redeem(first), null);
});

test('a ticket is 32 random bytes as base64url, with its expiry by the wall clock', () => {
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
  test(`an invalid ticket admits no viewer: ${JSON.stringify(text)}`, () => {
    const tickets = new ViewerTickets(new DrivenClock());
    issued(tickets);
    assert.equal(tickets.redeem(text), null);
  });

test('a ticket is good for 60 s, whatever the wall clock does', () => {
  const clock = new DrivenClock();
  const tickets = new ViewerTickets(clock);
  const [first, second] = [issued(tickets), issued(tickets)];
  clock.stepWall(3_600_000);
  clock.advance(59_999);
  assert.equal(tickets.redeem(first), session);
  clock.stepWall(-7_200_000);
  clock.advance(1);
  assert.equal(tickets.redeem(second), null);
});

test('at the maximum no ticket is issued until one is used or expires', () => {
  const clock = new DrivenClock();
  const tickets = new ViewerTickets(clock, 2);
  const first = issued(tickets);
  clock.advance(10_000);
  issued(tickets);
  assert.equal(tickets.issue(session), null);
  assert.equal(tickets.redeem(first), session);
  issued(tickets);
  assert.equal(tickets.issue(session), null);
  clock.advance(50_000);
  assert.equal(tickets.issue(session), null, 'the oldest has 10 s left');
  clock.advance(10_000);
  issued(tickets);
  issued(tickets);
  assert.equal(tickets.issue(session), null);
});

test('a thousand tickets may be valid at once', () => {
  const tickets = new ViewerTickets(new DrivenClock());
  const given = new Set(Array.from({ length: viewerTicketsMax }, () => issued(tickets)));
  assert.equal(given.size, 1000);
  assert.equal(tickets.issue(session), null);
});

test('a holder has one ticket, also at the maximum, and a used one frees its slot', () => {
  const clock = new DrivenClock();
  const tickets = new ViewerTickets(clock, 2);
  const held = (): string => tickets.issue(session, 'page')?.ticket ?? assert.fail('there is room');
  const [first, , third] = [held(), held(), held()];
  const other = issued(tickets, otherSession);
  assert.equal(tickets.issue(session), null);
  assert.equal(tickets.redeem(first), null);
  const fourth = held();
  assert.equal(tickets.redeem(third), null, 'it made room for its own successor');
  assert.equal(tickets.redeem(other), otherSession);
  assert.equal(tickets.redeem(fourth), session);
  clock.advance(60_000);
  assert.equal(tickets.redeem(held()), session);
});

const halfAnHourMs = 30 * 60_000;

test('a key is valid for its session any number of times, and no other text is', () => {
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

test('beyond the maximum the oldest key is dropped', () => {
  const keys = new WatchKeys(new DrivenClock(), 2);
  const [oldest, older, newest] = [keys.issue(session), keys.issue(session), keys.issue(session)];
  assert.equal(keys.find(oldest), null);
  assert.ok(keys.find(older) !== null);
  assert.ok(keys.find(newest) !== null);
});

test('a key has the reason of the end of its call, and no earlier state', () => {
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
