/** Figures of the last hour: values parsed from a scrape, and samples kept in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { figuresEveryMs, figuresKept } from '../../../src/model/console-limits.ts';
import { FigureHistory, readFigures } from '../../../src/telemetry/figure-history.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { DrivenClock } from '../../support/driven-clock.ts';
import { nextTurn } from '../../support/event-loop.ts';
import { metricSources } from '../../support/metric-sources.ts';

function scene(text: () => string) {
  const clock = new DrivenClock();
  return { clock, history: new FigureHistory({ clock, exposition: { expose: async () => text() } }) };
}

test('figures are the values of metrics, by their distinguishing label', async () => {
  const metrics = createMetrics(metricSources({ sleepSessions: () => 42 }));
  metrics.wakeup('accepted');
  metrics.httpRequest('connectivity', 200, 0, 0.001);
  metrics.httpRequest('connectivity', 404, 40403, 0.001);
  metrics.wakeupToOnline(1.5);
  const figures = readFigures(await metrics.expose());
  assert.equal(figures.get('sleep_sessions'), 42);
  assert.equal(figures.get('wakeups.accepted'), 1);
  assert.equal(figures.get('wakeups.refused'), 0);
  assert.equal(figures.get('requests.connectivity'), 2, 'statuses and codes are added up');
  assert.equal(figures.get('woke_within.1'), 0);
  assert.equal(figures.get('woke_within.2'), 1);
  assert.equal(figures.get('woke_within.+Inf'), 1);
  assert.ok((figures.get('memory_bytes') ?? 0) > 1e6);
});

test('figures are sampled at the start and every 5 s until cancelled', async () => {
  let sessions = 0;
  const { clock, history } = scene(() => `reveille_sleep_sessions ${(sessions += 1)}`);
  const cancel = history.start();
  for (let notes = 0; notes < 2; notes++) {
    await nextTurn();
    clock.advance(figuresEveryMs);
  }
  await nextTurn();
  cancel();
  clock.advance(figuresEveryMs);
  await nextTurn();
  const { series, at_ms: atMs, every_ms: everyMs } = history.read(0);
  assert.deepEqual(series['sleep_sessions'], [1, 2, 3]);
  assert.deepEqual([(atMs[1] ?? 0) - (atMs[0] ?? 0), everyMs], [figuresEveryMs, figuresEveryMs]);
});

test('an answer has the samples after the cursor, and all samples after a restart', async () => {
  const { history } = scene(() => 'reveille_sleep_sessions 5');
  await history.record();
  const first = history.read(0);
  await history.record();
  assert.deepEqual(history.read(first.next).series, { sleep_sessions: [5] });
  assert.deepEqual(history.read(2).at_ms, []);
  assert.equal(history.read(1000).at_ms.length, 2);
});

test('samples of an hour are kept, and the oldest is dropped', async () => {
  let count = 0;
  const { clock, history } = scene(() => `reveille_sleep_sessions ${(count += 1)}`);
  for (let notes = 0; notes < figuresKept + 3; notes++) {
    await history.record();
    clock.advance(figuresEveryMs);
  }
  const { series, at_ms: atMs, next } = history.read(0);
  assert.equal(atMs.length, figuresKept);
  assert.deepEqual(series['sleep_sessions']?.slice(0, 2), [4, 5]);
  assert.equal(series['sleep_sessions']?.at(-1), figuresKept + 3);
  assert.deepEqual(
    atMs,
    [...atMs].sort((one, other) => one - other),
  );
  assert.equal(next, figuresKept + 3);
});

test('a missing figure has no value, and a later one has none for earlier samples', async () => {
  const texts = ['reveille_signal_sessions 1', 'reveille_sleep_sessions 2', 'reveille_sleep_sessions Nan'];
  const { history } = scene(() => texts.shift() ?? '');
  for (let notes = 0; notes < 3; notes++) await history.record();
  assert.deepEqual(history.read(0).series, {
    signal_sessions: [1, null, null],
    sleep_sessions: [null, 2, null],
  });
});

test('an unreadable scrape is skipped, and the next one is sampled', async () => {
  let isBroken = true;
  const { history } = scene(() => {
    if (isBroken) throw new Error('planted');
    return 'reveille_sleep_sessions 1';
  });
  await history.record();
  isBroken = false;
  await history.record();
  assert.deepEqual(history.read(0).series, { sleep_sessions: [1] });
});
