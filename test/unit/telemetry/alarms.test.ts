/** The alarms of a server: its rules, tested with the series of Prometheus' alert tests, and the states of an alarm over time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import { alarmsEveryMs, resolvedAlarmsMax } from '../../../src/model/console-limits.ts';
import { alarmFigures, alarmRules } from '../../../src/telemetry/alarm-rules.ts';
import { Alarms, judgeRules, type FoundAlarm } from '../../../src/telemetry/alarms.ts';
import { FigureHistory } from '../../../src/telemetry/figure-history.ts';
import { readFromRoot } from '../../support/checkout.ts';
import { DrivenClock } from '../../support/driven-clock.ts';

interface AlertTest {
  readonly name: string;
  readonly interval: string;
  readonly input_series: readonly { readonly series: string; readonly values: string }[];
  readonly alert_rule_test: readonly {
    readonly eval_time: string;
    readonly alertname: string;
    readonly exp_alerts: readonly object[];
  }[];
}

const { tests } = parse(readFromRoot('deploy/prometheus/alerts.test.yml')) as { tests: readonly AlertTest[] };
const rules = new Set(alarmRules.map(({ name }) => name));

/** Milliseconds of `5m`. */
function spanOf(text: string): number {
  const [, count = '', unit = ''] = /^(\d+)([smh])$/.exec(text) ?? [];
  return Number(count) * ({ s: 1000, m: 60_000, h: 3_600_000 }[unit] ?? NaN);
}

/** The values of promtool: `5`, `0+1x3` for 0 1 2 3, `7x2` for 7 7 7, `_` for none. */
function valuesOf(text: string): (number | null)[] {
  return text.split(' ').flatMap((each) => {
    const [, start = '', step = '0', times = '0'] = /^(-?[\d.e]+)([+-][\d.e]+)?(?:x(\d+))?$/.exec(each) ?? [];
    if (start === '') return [null];
    return Array.from({ length: Number(times) + 1 }, (_, at) => Number(start) + at * Number(step));
  });
}

class Scene {
  readonly clock = new DrivenClock(0);
  readonly alarms = new Alarms(this.clock);
  readonly #figures: FigureHistory;

  constructor(text: (nowMs: number) => string) {
    const exposition = { expose: async () => text(this.clock.wallMs()) };
    this.#figures = new FigureHistory({ clock: this.clock, exposition }, alarmFigures);
  }

  async record(): Promise<void> {
    await this.#figures.record();
    this.alarms.observe(judgeRules(this.#figures));
  }

  /** Takes the first sample at the start. */
  async runTo(untilMs: number): Promise<void> {
    while (this.clock.wallMs() <= untilMs) {
      await this.record();
      this.clock.advance(alarmsEveryMs);
    }
  }

  firing(name: string): string[] {
    return this.alarms.active.flatMap((one) => (one.name === name && one.state === 'firing' ? [one.of] : []));
  }
}

for (const { name, interval, input_series: series, alert_rule_test: moments } of tests) {
  const ofOurs = moments.filter(({ alertname }) => rules.has(alertname));
  if (ofOurs.length === 0) continue;
  test(`by the series of Prometheus' test: ${name}`, async () => {
    const inputs = series.map((each) => ({ name: each.series, values: valuesOf(each.values) }));
    const scene = new Scene((nowMs) =>
      inputs
        .flatMap(({ name: sample, values }) => {
          const value = values[Math.floor(nowMs / spanOf(interval))] ?? null;
          return value === null ? [] : [`${sample.replaceAll(', ', ',')} ${value}`];
        })
        .join('\n'),
    );
    for (const { eval_time: at, alertname, exp_alerts: expected } of ofOurs) {
      await scene.runTo(spanOf(at));
      assert.equal(scene.firing(alertname).length > 0, expected.length > 0, `${alertname} at ${at}`);
    }
  });
}

function found(given: Partial<FoundAlarm> = {}): FoundAlarm {
  const terms = { name: 'ReveilleFrontDown', of: 'front-0', severity: 'critical', forMs: 60_000 } as const;
  return { ...terms, found: '0', advice: null, ...given };
}

function statesOf(alarms: Alarms): string[] {
  return [...alarms.active, ...alarms.resolved].map(({ of, state }) => `${of} ${state}`);
}

test('an alarm is pending for its time, then fires, and is resolved when its condition ends', () => {
  const clock = new DrivenClock();
  const alarms = new Alarms(clock);
  const startMs = clock.wallMs();
  alarms.observe([found()]);
  clock.advance(59_999);
  alarms.observe([found()]);
  assert.deepEqual(statesOf(alarms), ['front-0 pending']);
  clock.advance(1);
  alarms.observe([found()]);
  assert.deepEqual(statesOf(alarms), ['front-0 firing']);
  clock.advance(5000);
  alarms.observe([]);
  assert.deepEqual(statesOf(alarms), ['front-0 resolved']);
  const [over] = alarms.resolved;
  assert.deepEqual([over?.sinceMs, over?.resolvedMs], [startMs, startMs + 65_000]);
});

test('a condition that ends early leaves no alarm, and restarts its time when it returns', () => {
  const clock = new DrivenClock();
  const alarms = new Alarms(clock);
  alarms.observe([found()]);
  clock.advance(30_000);
  alarms.observe([]);
  assert.deepEqual(statesOf(alarms), []);
  alarms.observe([found()]);
  clock.advance(30_000);
  alarms.observe([found()]);
  assert.deepEqual(statesOf(alarms), ['front-0 pending']);
});

test('each process has its own alarm; firing ones are listed first, critical before warning', () => {
  const clock = new DrivenClock();
  const alarms = new Alarms(clock);
  const warning = found({ of: 'b', severity: 'warning', forMs: 0 });
  alarms.observe([found({ of: 'a' }), warning, found({ of: 'c', forMs: 0 })]);
  assert.deepEqual(statesOf(alarms), ['c firing', 'b firing', 'a pending']);
});

test('the latest resolved alarms are kept', () => {
  const alarms = new Alarms(new DrivenClock());
  for (let at = 0; at < resolvedAlarmsMax + 3; at++) {
    alarms.observe([found({ of: `front-${at}`, forMs: 0 })]);
    alarms.observe([]);
  }
  assert.equal(alarms.resolved.length, resolvedAlarmsMax);
  assert.equal(alarms.resolved[0]?.of, `front-${resolvedAlarmsMax + 2}`);
});

test('an alarm shows value and limit with their unit', async () => {
  const texts = [
    'reveille_front_utilization{front="front-0"} 0.953',
    'nodejs_eventloop_lag_p99_seconds 0.25',
    'reveille_certificate_expiry_timestamp_seconds{listener="api"} 864060',
    'reveille_process_up{process="edge-1"} 0',
    'reveille_store_waiting_changes 60000',
  ];
  const scene = new Scene(() => texts.join('\n'));
  await scene.record();
  assert.deepEqual(
    scene.alarms.active.map(({ name, of, found: reading }) => `${name} ${of}: ${reading}`),
    [
      'ReveilleProcessDown edge-1: 0',
      'ReveilleStoreBehind : 60000, limit > 50000',
      'ReveilleFrontBusy front-0: 95.3 %, limit > 90 %',
      'ReveilleEventLoopLate : 0.25 s, limit > 0.2 s',
      'ReveilleCertificateExpires api: 10 days, limit < 14 days',
    ],
  );
});
