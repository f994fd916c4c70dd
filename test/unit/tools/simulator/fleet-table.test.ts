import { test } from 'node:test';
import assert from 'node:assert/strict';
import {
  encodeFigures,
  lineOf,
  renderTable,
  type FleetFigures,
  LatencyWindow,
} from '../../../../src/tools/simulator/fleet-table.ts';

const figures: FleetFigures = {
  seconds: 42.26,
  devices: 200,
  offline: 1,
  booting: 3,
  online: 17,
  asleep: 179,
  loginsPerSecond: 12,
  logins: 640,
  sleepLogins: 620,
  refused: 2,
  errors: 4,
  heartbeats: 12_345_678,
  messages: 5,
  wakes: 430,
  packetToOnline: { count: 55, p50Ms: 412, p95Ms: 690, maxMs: 1801 },
  latestWakes: [],
  latestTroubles: [],
  troubles: [],
};

test('the table says how many are at what, and how long a wake takes', () => {
  assert.equal(
    renderTable(figures).join('\n'),
    `
200 devices for 42 s; Ctrl-C ends it

offline  booting  online  asleep  logins/s   wakes  heartbeats  refused  errors
      1        3      17     179        12     430    12345678        2       4

woken, last minute        count      p50      p95      max
packet to online again       55   412 ms   690 ms  1801 ms`.trimStart(),
  );
});

test('the table fits into a terminal of 80 characters', () => {
  for (const line of renderTable({ ...figures, acceptedToOnline: figures.packetToOnline }))
    assert.ok(line.length < 80, line);
});

test('with wakes of its own, the server has a line as well; the latest wakes and troubles stand below', () => {
  const table = renderTable({
    ...figures,
    acceptedToOnline: null,
    latestWakes: ['D1 woken', 'D1 online again'],
    latestTroubles: ['D2 denied'],
    troubles: [],
  });
  assert.equal(
    table.slice(5).join('\n'),
    `
woken, last minute             count      p50      p95      max
packet to online again            55   412 ms   690 ms  1801 ms
accepted to online (server)        0        -        -        -

D1 woken
D1 online again

troubles
D2 denied`.trimStart(),
  );
});

test('one line says the same to a log', () => {
  assert.equal(
    lineOf(figures),
    '179 asleep  17 online  3 booting  1 offline  12 logins/s  430 wakes, online again after 412 ms (p95 690 ms)  2 refused  4 errors',
  );
  assert.match(lineOf({ ...figures, packetToOnline: null }), / 430 wakes {2}2 refused/);
});

test('machines get the same numbers', () => {
  assert.deepEqual(encodeFigures({ ...figures, acceptedToOnline: null }), {
    seconds: 42.3,
    devices: 200,
    offline: 1,
    booting: 3,
    online: 17,
    asleep: 179,
    logins_per_second: 12,
    logins: 640,
    sleep_logins: 620,
    refused: 2,
    errors: 4,
    heartbeats: 12_345_678,
    messages: 5,
    wakes: 430,
    packet_to_online: { count: 55, p50_ms: 412, p95_ms: 690, max_ms: 1801 },
    accepted_to_online: null,
  });
  assert.ok(!('accepted_to_online' in encodeFigures(figures)));
});

test('the median, the slowest but one in twenty, and the slowest', () => {
  const window = new LatencyWindow();
  for (let ms = 100; ms >= 1; ms -= 1) window.add(0, ms);
  assert.deepEqual(window.summarize(0), { count: 100, p50Ms: 50, p95Ms: 95, maxMs: 100 });
});

test('one sample is all three', () => {
  const window = new LatencyWindow();
  window.add(0, 412.4);
  assert.deepEqual(window.summarize(0), { count: 1, p50Ms: 412, p95Ms: 412, maxMs: 412 });
});

test('what is older than a minute is not counted', () => {
  const window = new LatencyWindow();
  assert.equal(window.summarize(0), null);
  window.add(0, 1);
  window.add(1, 3);
  assert.equal(window.summarize(59_999)?.count, 2);
  assert.equal(window.summarize(60_000)?.maxMs, 3);
  assert.equal(window.summarize(60_001), null);
});

test('of more than it can hold the latest count', () => {
  const window = new LatencyWindow();
  window.add(0, 9999);
  for (let i = 0; i < 16_384; i += 1) window.add(0, 1);
  assert.deepEqual(window.summarize(0), { count: 16_384, p50Ms: 1, p95Ms: 1, maxMs: 1 });
});
