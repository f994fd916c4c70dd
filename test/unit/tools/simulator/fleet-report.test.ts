import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FleetReport } from '../../../../src/tools/simulator/fleet-report.ts';
import { DeviceTally, Latencies } from '../../../../src/tools/simulator/fleet-tally.ts';
import { ConnectionFailedError } from '../../../../src/cli/shell/connection-failure.ts';
import type { WakeupOutcomeData } from '../../../../src/client/reveille-client.ts';
import { reportStage } from '../report-stage.ts';

const packet = Buffer.from('983b16f8f39c0000', 'hex');
const outcome: WakeupOutcomeData = {
  request_id: 'r',
  device_id: 'D1',
  status: 'completed',
  accepted_at: null,
  completed_at: null,
  woke_after_ms: 398,
  already_online: false,
  cause: 'remote',
};

function stage(options: Parameters<typeof reportStage>[0] & { readonly wakesItself?: boolean } = {}) {
  const scene = reportStage(options);
  const tally = new DeviceTally(2);
  return { ...scene, tally, report: new FleetReport(scene.context, tally, options.wakesItself === true) };
}

/** Both devices log in and sleep, and one is woken. */
function live({ report, tally, clock }: ReturnType<typeof stage>): void {
  for (const [from, to] of [
    ['offline', 'booting'],
    ['booting', 'signing-in'],
    ['signing-in', 'online'],
  ] as const)
    for (let device = 0; device < 2; device += 1) tally.countStep(from, to);
  clock.advance(1000);
  report.progress();
  for (let device = 0; device < 2; device += 1) {
    tally.countStep('online', 'falling-asleep');
    tally.countStep('falling-asleep', 'asleep');
  }
  clock.advance(1000);
  report.progress();
  tally.wakes += 1;
  report.wake('D1', packet);
  tally.countStep('asleep', 'booting');
  clock.advance(412);
  report.awake('D1', 412.3);
}

test('the JSON output has every step, and the figures once a second', () => {
  const scene = stage({ wantsJson: true, wakesItself: true });
  live(scene);
  scene.report.outcome(outcome);
  scene.report.trouble('D2', new Error('denied'));
  scene.report.summary();
  const events = scene.answers.map(({ json }) => json);
  assert.deepEqual(
    events.map(({ event }) => event),
    ['figures', 'asleep', 'figures', 'wake', 'awake', 'outcome', 'trouble', 'summary'],
  );
  const [first, , second, wake, awake, reported, trouble, summary = {}] = events;
  assert.deepEqual(
    [first, second].map((figures) => [
      figures?.['online'],
      figures?.['asleep'],
      figures?.['logins_per_second'],
    ]),
    [
      [2, 0, 2],
      [0, 2, 2],
    ],
  );
  assert.deepEqual([wake?.['packet'], wake?.['at']], ['983b16f8f39c0000', '2026-11-20T08:30:02.000Z']);
  assert.deepEqual([awake?.['device_id'], awake?.['took_ms']], ['D1', 412]);
  assert.deepEqual([reported?.['request_id'], reported?.['woke_after_ms']], ['r', 398]);
  assert.equal(trouble?.['reason'], 'denied');
  const { at: _at, troubles, ...figures } = summary;
  assert.deepEqual(troubles, [{ reason: 'denied', advice: null, count: 1 }]);
  assert.deepEqual(figures, {
    event: 'summary',
    seconds: 2.4,
    devices: 2,
    offline: 0,
    booting: 1,
    online: 0,
    asleep: 1,
    logins_per_second: 2,
    logins: 2,
    sleep_logins: 2,
    refused: 0,
    errors: 0,
    heartbeats: 0,
    messages: 0,
    wakes: 1,
    packet_to_online: { count: 1, p50_ms: 412, p95_ms: 412, max_ms: 412 },
    accepted_to_online: { count: 1, p50_ms: 398, p95_ms: 398, max_ms: 398 },
  });
  assert.equal(scene.screen.written, '', 'and no line');
});

test('a terminal shows wakes as lines, a progress line, and errors on standard error', () => {
  const scene = stage({ isTTY: true });
  live(scene);
  scene.report.trouble('D2', new Error('denied'));
  scene.report.progress();
  assert.match(
    scene.screen.written,
    /2 s {2}1 asleep {2}0 online {2}1 booting {2}0 offline {2}0 refused {2}0 errors {2}0 logins\/s {2}1 wake, online again after 412 ms \(p95 412, max 412\)$/,
  );
  scene.report.summary();
  assert.deepEqual(
    scene.answers.map(({ text }) => text.replace(/^\d\d:30:/, '')),
    [
      '02.000  all 2 asleep after 2 s',
      '02.000  D1  woken: 98 3b 16 f8 f3 9c 00 00',
      '02.412  D1  online again 412 ms after the packet',
      '2 devices for 2.4 s, 1 asleep and 0 online at the end: 2 signal logins, 2 sleep logins, 0 refused, 0 errors, ' +
        '1 wake; online again after 412 ms (p95 412, max 412)\n  once  denied',
    ],
  );
  assert.deepEqual(scene.remarks, ['D2: denied']);
});

test('failed connections are counted by reason, and the advice is printed once', () => {
  const scene = stage();
  const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
  for (const device of ['D1', 'D2'])
    scene.report.trouble(device, new ConnectionFailedError('wss://lab:1', refused));
  for (let reason = 1; reason <= 9; reason += 1) scene.report.trouble('D3', new Error(`denied ${reason}`));
  scene.report.summary();
  assert.deepEqual(scene.remarks.slice(0, 2), [
    'D1: wss://lab:1: nothing listens there\n  start the server, or name the address of another',
    'D2: wss://lab:1: nothing listens there',
  ]);
  const [summary] = scene.answers;
  assert.match(
    summary?.text ?? '',
    /\n {2}2 times {2}wss:\/\/lab:1: nothing listens there\n {4}start the server/,
  );
  const { troubles } = (summary?.json ?? {}) as { troubles: readonly { count: number; reason: string }[] };
  assert.equal(troubles.length, 9, 'the number of distinct reasons is limited');
  assert.deepEqual(
    troubles.find(({ reason }) => reason === 'other reasons'),
    { reason: 'other reasons', advice: null, count: 2 },
  );
});

test('a terminal shows a limited rate of wakes and errors; the JSON output has every wake', () => {
  for (const wantsJson of [false, true]) {
    const { report, answers, remarks } = stage({ wantsJson });
    for (let wake = 0; wake < 1000; wake += 1) report.wake('D1', packet);
    for (let trouble = 0; trouble < 1000; trouble += 1) report.trouble('D1', new Error('denied'));
    assert.deepEqual([answers.length, remarks.length], wantsJson ? [1005, 0] : [40, 5]);
  }
});

test('control characters are removed from lines', () => {
  const scene = stage();
  scene.report.wake('D\u001b[2J', packet);
  scene.report.trouble('D\u001b[2J', new Error('x'));
  for (const line of [scene.answers[0]?.text ?? '\u001b', scene.remarks[0] ?? '\u001b'])
    assert.ok(!line.includes('\u001b'), line);
});

test('latencies are the p50, p95 and maximum of the latest thousand', () => {
  const latencies = new Latencies();
  assert.equal(latencies.summarize(), null);
  for (let ms = 100; ms >= 1; ms -= 1) latencies.add(ms);
  assert.deepEqual(latencies.summarize(), { count: 100, p50_ms: 50, p95_ms: 95, max_ms: 100 });
  for (let i = 0; i < 1000; i += 1) latencies.add(1.4);
  assert.deepEqual(latencies.summarize(), { count: 1000, p50_ms: 1, p95_ms: 1, max_ms: 1 });
});
