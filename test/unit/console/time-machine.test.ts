/** A device's past, reconstructed from its events. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeEvent, sessionReason } from '../../../src/console/past/reasons.ts';
import { pastOf, type PastEvent } from '../../../src/console/past/time-machine.ts';
import { callEndReasons } from '../../../src/model/call.ts';
import { eventTypes } from '../../../src/model/events.ts';
import { signalEndReasons } from '../../../src/model/signal.ts';
import { sleepEndReasons } from '../../../src/model/sleep.ts';
import { callReason } from '../../../src/console/past/reasons.ts';

const noonMs = Date.UTC(2026, 10, 20, 12);

let seq = 0;
/** `atS`: seconds after noon. */
function event(atS: number, type: string, data: Readonly<Record<string, unknown>> = {}): PastEvent {
  return { type, at: new Date(noonMs + atS * 1000).toISOString(), seq: (seq += 1), data };
}

function at(seconds: number): number {
  return noonMs + seconds * 1000;
}

test('a module that lost its power was asleep until then, and offline until it returned, for that reason', () => {
  const past = pastOf([
    event(0, 'device.sleep.login', { session: 'a' }),
    event(100, 'device.sleep.offline', { session: 'a', reason: 'heartbeat_timeout' }),
    event(160, 'device.sleep.login', { session: 'b' }),
  ]);
  const lost = sessionReason('heartbeat_timeout');
  assert.deepEqual(past.asleep, [
    { fromMs: at(0), toMs: at(100), ending: lost },
    { fromMs: at(160), toMs: null, ending: '' },
  ]);
  assert.deepEqual(past.offline, [{ fromMs: at(100), toMs: at(160), ending: lost }]);
  assert.match(lost, /no heartbeat/);
  assert.equal(past.knownFromMs, at(0));
});

test('a device whose controller is online is not offline while its module is gone', () => {
  const past = pastOf([
    event(0, 'device.sleep.login', { session: 'a' }),
    event(10, 'device.signal.online', { session: 'c' }),
    event(11, 'device.sleep.offline', { session: 'a', reason: 'peer_closed' }),
    event(20, 'device.sleep.login', { session: 'b' }),
    event(21, 'device.signal.offline', { session: 'c', reason: 'bye' }),
  ]);
  assert.deepEqual(past.offline, []);
  assert.deepEqual(past.online, [{ fromMs: at(10), toMs: at(21), ending: sessionReason('bye') }]);
});

test('a device that left is offline since then, with the reason of its last end', () => {
  const past = pastOf([
    event(0, 'device.sleep.login', { session: 'a' }),
    event(5, 'device.signal.online', { session: 'c' }),
    event(10, 'device.sleep.offline', { session: 'a', reason: 'reset' }),
    event(30, 'device.signal.offline', { session: 'c', reason: 'node_lost' }),
  ]);
  assert.deepEqual(past.offline, [{ fromMs: at(30), toMs: null, ending: sessionReason('node_lost') }]);
});

test('the end of a replaced session does not end its successor', () => {
  const past = pastOf([
    event(0, 'device.sleep.login', { session: 'a' }),
    event(10, 'device.sleep.login', { session: 'b', replaced: true }),
    event(11, 'device.sleep.offline', { session: 'a', reason: 'reset' }),
  ]);
  assert.deepEqual(past.asleep, [
    { fromMs: at(0), toMs: at(10), ending: sessionReason('replaced') },
    { fromMs: at(10), toMs: null, ending: '' },
  ]);
  assert.deepEqual(past.offline, []);
});

test('a session that began before the first event is unknown', () => {
  const past = pastOf([event(0, 'device.sleep.offline', { session: 'z', reason: 'reset' })]);
  assert.deepEqual([past.asleep, past.offline], [[], []]);
  assert.deepEqual(pastOf([]).knownFromMs, null);
});

test('events are sorted by sequence, in whatever order they arrive', () => {
  const login = event(0, 'device.sleep.login', { session: 'a' });
  const end = event(0, 'device.sleep.offline', { session: 'a', reason: 'kicked' });
  assert.equal(pastOf([end, login]).asleep[0]?.toMs, at(0));
});

test('a wakeup lasts from its acceptance to its outcome, even if the acceptance arrives last', () => {
  const past = pastOf([
    event(10, 'device.wakeup.accepted', { request_id: 'r1' }),
    event(12, 'device.wakeup.completed', { request_id: 'r1', woke_after_ms: 1500 }),
    event(52, 'device.wakeup.completed', { request_id: 'r2', woke_after_ms: 2000 }),
    event(50, 'device.wakeup.accepted', { request_id: 'r2' }),
    event(60, 'device.wakeup.accepted', { request_id: 'r3' }),
    event(120, 'device.wakeup.expired', { request_id: 'r3' }),
    event(130, 'device.wakeup.accepted', { request_id: 'r4' }),
    event(131, 'device.wakeup.failed', { request_id: 'r4', reason: 'reset' }),
    event(140, 'device.wakeup.accepted', { request_id: 'r5' }),
  ]);
  assert.deepEqual(
    past.wakeups.map(({ requestId, outcome, acceptedMs, wokeAfterMs }) => [
      requestId,
      outcome,
      acceptedMs - noonMs,
      wokeAfterMs,
    ]),
    [
      ['r1', 'woke', 10_000, 1500],
      ['r2', 'woke', 50_000, 2000],
      ['r3', 'did not wake', 60_000, null],
      ['r4', 'module lost', 130_000, null],
      ['r5', 'waiting', 140_000, null],
    ],
  );
});

test('a call lasts from its start to its end', () => {
  const past = pastOf([
    event(0, 'call.started', { session: 's' }),
    event(1, 'call.state', { session: 's', state: 'connected' }),
    event(9, 'call.ended', { session: 's', reason: 'hangup_phone' }),
  ]);
  assert.deepEqual(past.calls, [{ fromMs: at(0), toMs: at(9), ending: 'the phone hung up' }]);
});

test('every reason and every event has a description', () => {
  for (const reason of [...sleepEndReasons, ...signalEndReasons])
    assert.match(sessionReason(reason), / /, reason);
  for (const reason of callEndReasons) assert.match(callReason(reason), / /, reason);
  for (const type of eventTypes) assert.notEqual(describeEvent({ type, data: {} }), type);
  assert.equal(describeEvent({ type: 'of.a.later.release', data: {} }), 'of.a.later.release');
});
