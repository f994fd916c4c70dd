/** Compares the alarm rules with deploy/prometheus/alerts.yml and the rows of docs/alerts.md. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import { readAlertRows } from '../../src/server/health/alert-rows.ts';
import { alarmRules } from '../../src/telemetry/alarm-rules.ts';
import { readFromRoot } from '../support/checkout.ts';

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
}

interface AlertFile {
  readonly groups: readonly { readonly rules: readonly Alert[] }[];
}

/** Alerts that a server cannot evaluate itself, each with the reason. */
const onlyOutside: Readonly<Record<string, string>> = {
  ReveilleDown: 'a server that is down answers no request',
  ReveilleRestarts: 'the figures of a server begin with its start',
  ReveilleDiskFills:
    'it looks back for 6 hours, the server for one; ReveilleDiskLow comes before the disk is full',
};

/** Limits in an expression, such as `> 0.9`, in order; `14 * 86400` is one number. */
function limitsOf(expr: string): string[] {
  const bare = expr.replaceAll(/\{[^}]*\}|\[[^\]]*\]/g, '');
  return Array.from(
    bare.matchAll(/([<>]|==) ([\d.]+)(?: \* (\d+))?/g),
    ([, operator, number, times = '1']) => {
      return `${operator} ${Number(number) * Number(times)}`;
    },
  );
}

function secondsOf(span = '0s'): number {
  const [, count = '', unit = ''] = /^(\d+)([smh])$/.exec(span) ?? [];
  return Number(count) * ({ s: 1, m: 60, h: 3600 }[unit] ?? NaN);
}

interface Terms {
  readonly name: string;
  readonly severity: string;
  readonly forS: number;
  readonly limits: readonly string[];
}

const ofTheServer = alarmRules.map(({ name, severity, forMs, condition }): Terms => ({
  name,
  severity,
  forS: forMs / 1000,
  limits: condition.limits,
}));

const ofPrometheus = (parse(readFromRoot('deploy/prometheus/alerts.yml')) as AlertFile).groups.flatMap(
  ({ rules }) =>
    rules.map(({ alert, expr, labels, for: span }): Terms => ({
      name: alert,
      severity: labels.severity,
      forS: secondsOf(span),
      limits: limitsOf(expr),
    })),
);

test('each alert is a rule of the server with the same severity, duration and limits, or can be evaluated only from outside', () => {
  const judged = ofPrometheus.filter(({ name }) => !Object.hasOwn(onlyOutside, name));
  assert.ok(judged.length > 30, 'hardly an alert is found');
  assert.deepEqual(ofTheServer, judged);
});

test('an alert that is evaluated only from outside exists', () => {
  const names = new Set(ofPrometheus.map(({ name }) => name));
  assert.deepEqual(
    Object.keys(onlyOutside).filter((name) => !names.has(name)),
    [],
  );
});

test('each rule has its meaning and remedy in docs/alerts.md, without link markup', async () => {
  const rows = await readAlertRows();
  for (const { name } of alarmRules) {
    const { meaning = '', cure = '' } = rows.get(name) ?? {};
    assert.match(meaning, /\w+ \w+/, name);
    assert.match(cure, /\w+/, name);
    assert.doesNotMatch(meaning + cure, /\]\(/, name);
  }
});

test('the check sees each comparison of an expression, and none in a label', () => {
  const expr = 'rate(a{x=~"5..", y!="> 3"}[5m]) / b < 14 * 86400 and c == 0 or sum by (d) (e) > 0.05';
  assert.deepEqual(limitsOf(expr), ['< 1209600', '== 0', '> 0.05']);
});
