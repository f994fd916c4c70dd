import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SessionId } from '../../../../src/model/ids.ts';
import { viewerTicketsMax } from '../../../../src/model/limits.ts';
import { ViewerTickets } from '../../../../src/core/calls/viewer-tickets.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';

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
