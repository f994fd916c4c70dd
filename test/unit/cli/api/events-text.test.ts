import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatEvent, summaryOf, parseSince } from '../../../../src/cli/api/events-text.ts';
import { formatLocalTime } from '../../../../src/server/bootstrap/log-text.ts';
import type { WireEvent } from '../../../../src/gateways/admin/event-query.ts';
import { InvalidArgumentError } from 'commander';
import { encodeCursor } from '../../../support/event-cursors.ts';

function wireEvent(overrides: Partial<WireEvent>): WireEvent {
  return {
    id: '01a2b3c4-0000-7000-8000-000000000003',
    type: 'device.signal.offline',
    at: '2026-11-20T08:30:00.123+00:00',
    device_id: 'DOOR-1',
    seq: 7,
    epoch: 3,
    data: {},
    ...overrides,
  };
}

test("the time is in the reader's time zone, to the millisecond", () => {
  const ms = Date.UTC(2026, 0, 2, 3, 4, 5, 6);
  const said = formatLocalTime(ms);
  assert.match(said, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.006$/);
  assert.equal(new Date(said.replace(' ', 'T')).getTime(), ms);
});

test('a line has time, type, device and a summary', () => {
  const line = formatEvent(
    wireEvent({ data: { session: 's', node: 'node-1', reason: 'heartbeat_timeout' } }),
  );
  assert.match(
    line,
    /^\S+ \S+\.123 {2}device\.signal\.offline {4}DOOR-1 +heartbeat_timeout, epoch 3, on node-1$/,
  );
});

test('each type of event has its own summary', () => {
  const told: [type: string, data: WireEvent['data'], said: string][] = [
    ['device.signal.online', { node: 'n', replaced: true }, 'replaced the previous session, epoch 3, on n'],
    ['device.sleep.login', { node: 'n', replaced: false }, 'epoch 3, on n'],
    ['device.wakeup.accepted', { request_id: 'r', custom_data: null }, 'request r, epoch 3'],
    ['device.wakeup.accepted', { request_id: 'r', custom_data: '0x12ab' }, '0x12ab, request r, epoch 3'],
    ['device.wakeup.failed', { request_id: 'r', reason: 'reset' }, 'reset, request r, epoch 3'],
    [
      'device.wakeup.completed',
      { request_id: 'r', woke_after_ms: 812 },
      'online after 812 ms, request r, epoch 3',
    ],
    ['device.wakeup.expired', { request_id: 'r' }, 'request r, epoch 3'],
  ];
  for (const [type, data, said] of told) assert.equal(summaryOf(wireEvent({ type, data })), said);
  const call = wireEvent({
    type: 'call.ended',
    epoch: null,
    data: { session: 's', state: 'ended', reason: 'lost' },
  });
  assert.equal(summaryOf(call), 'ended, lost, session s');
});

test('control characters are escaped', () => {
  const line = formatEvent(wireEvent({ device_id: '\u001b[31mX', data: { request_id: '\u0007' } }));
  assert.doesNotMatch(line, /\p{Cc}/u);
});

const nowMs = 1_800_000_000_500;
const id = '01a2b3c4-0000-7000-8000-000000000003';

test('an age, a moment, an id and a cursor each become a starting place', () => {
  const cases: [text: string, query: readonly [string, string]][] = [
    ['10m', ['since', String(nowMs - 600_000)]],
    ['90', ['since', String(nowMs - 90_000)]],
    ['99999d', ['since', '0']],
    ['2027-01-31T12:00:00Z', ['since', String(Date.UTC(2027, 0, 31, 12))]],
    [id, ['since', id]],
    [id.toUpperCase(), ['since', id]],
    [encodeCursor(77), ['after', '77']],
  ];
  for (const [text, query] of cases) assert.deepEqual(parseSince(text)(nowMs), query, text);
});

test('any other text is a usage error that names the valid forms', () => {
  for (const text of ['', 'yesterday', '10 m', '-5m', `${id}0`, 'AAAAAAAAAAAA'])
    assert.throws(() => parseSince(text), InvalidArgumentError, text);
});
