/** Checks that Prometheus accepts the alerts and the dashboard, and that a server exposes the metrics that they use. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { readFromRoot } from '../support/checkout.ts';
import { runTool } from '../support/debian-tools.ts';
import { startServerProcess } from '../support/server-process.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { deployedPath, readDeployed, readYaml } from './deployed-files.ts';
import { Exposition } from './exposition.ts';
import { withoutVariables } from './query.ts';

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels?: { readonly severity?: string };
  readonly annotations?: { readonly summary?: string };
}

interface AlertTests {
  readonly tests: readonly {
    readonly alert_rule_test: readonly {
      readonly alertname: string;
      readonly exp_alerts: readonly object[];
    }[];
  }[];
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly datasource?: { readonly uid: string };
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly refId: string; readonly expr: string }[];
}

interface Dashboard {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] };
  readonly annotations: { readonly list: readonly { readonly expr: string }[] };
}

const alerts = (readYaml('prometheus/alerts.yml') as { groups: { rules: Alert[] }[] }).groups.flatMap(
  ({ rules }) => rules,
);
const alertNames = alerts.map(({ alert }) => alert);
const dashboard = JSON.parse(readDeployed('grafana/reveille.json')) as Dashboard;
const dashboardQueries = [
  ...dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
  ...dashboard.annotations.list.map(({ expr }) => expr),
];

// With an edge and a front, /metrics has every metric.
const { ports } = await startServerProcess({ after }, [`data.dir=${temporaryDirectory({ after })}`], {}, [
  '--edges',
  '1',
  '--fronts',
  '1',
]);
const answer = await fetch(`http://127.0.0.1:${ports.ops}/metrics`);
const live = new Exposition(await answer.text());

test('the server exposes metrics', () => assert.ok(live.size > 60, String(live.size)));

test('Prometheus accepts its configuration and the alerts', async () => {
  await runTool('promtool', ['check', 'config', deployedPath('prometheus/prometheus.yml')]);
});

test('every alert fires when it should, and not before', async () => {
  await runTool('promtool', ['test', 'rules', deployedPath('prometheus/alerts.test.yml')]);
});

test('the tests of every alert have a moment at which it fires, and one at which it does not', () => {
  const moments = (readYaml('prometheus/alerts.test.yml') as AlertTests).tests.flatMap(
    ({ alert_rule_test: tests }) => tests,
  );
  const tested = (fires: boolean): string[] => {
    const those = moments.filter(({ exp_alerts: expected }) => expected.length > 0 === fires);
    return [...new Set(those.map(({ alertname }) => alertname))].sort();
  };
  assert.deepEqual(tested(true), [...alertNames].sort());
  assert.deepEqual(tested(false), [...alertNames].sort());
});

test('every alert has a severity and a summary', () => {
  for (const { alert, labels, annotations } of alerts) {
    assert.match(labels?.severity ?? '', /^(?:critical|warning)$/, alert);
    assert.ok((annotations?.summary ?? '') !== '', alert);
  }
});

test('docs/alerts.md has a row for every alert, and for no other', () => {
  const page = readFromRoot('docs/alerts.md');
  const rows = [...page.matchAll(/^\| `(Reveille\w+)`/gm)].map(([, name = '']) => name);
  assert.deepEqual(rows.sort(), [...alertNames].sort());
});

test('/metrics has every metric that alerts use', () => {
  for (const { alert, expr } of alerts) assert.deepEqual(live.findMissing(expr), [], alert);
});

test('/metrics has every metric that the dashboard uses', () => {
  assert.ok(dashboardQueries.length > 40);
  for (const expr of dashboardQueries) assert.deepEqual(live.findMissing(withoutVariables(expr)), [], expr);
});

test('canary: a missing metric, label or value is detected', () => {
  const missing = (expr: string): number => live.findMissing(expr).length;
  assert.equal(missing('sum by (job) (rate(reveille_sleep_logins_total{result=~"busy"}[5m])) > 0'), 0);
  assert.equal(missing('reveille_sleep_sessionz offset 10m > 1'), 1);
  assert.equal(missing('reveille_sleep_logins_total{outcome="busy"}'), 1);
  assert.equal(missing('reveille_sleep_logins_total{result="tired"}'), 1);
  assert.equal(missing('sum by (reason) (reveille_sleep_logins_total)'), 1);
  assert.equal(missing('rate(reveille_wakeup_write_seconds[5m])'), 1);
});

test('Prometheus accepts every query of the dashboard', async (t) => {
  const file = join(temporaryDirectory(t), 'queries.json');
  const rules = dashboardQueries.map((expr, n) => ({ record: `query:${n}`, expr: withoutVariables(expr) }));
  writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
  await runTool('promtool', ['check', 'rules', file]);
});

test('every panel of the dashboard has an id, a position and a query of its own', () => {
  const { panels } = dashboard;
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  const taken = new Set<string>();
  for (const { type, title, datasource, targets = [], gridPos } of panels) {
    const { x, y, w, h } = gridPos;
    assert.ok(x + w <= 24, title);
    for (let column = x; column < x + w; column++)
      for (let line = y; line < y + h; line++) {
        assert.ok(!taken.has(`${column},${line}`), `${title} lies on another panel`);
        taken.add(`${column},${line}`);
      }
    if (type === 'row') continue;
    assert.equal(datasource?.uid, `\${datasource}`, title);
    assert.ok(targets.length > 0, title);
    assert.equal(new Set(targets.map(({ refId }) => refId)).size, targets.length, title);
  }
});

test('the variables of the dashboard are those that its queries use', () => {
  const used = [...JSON.stringify(dashboardQueries).matchAll(/\$([a-z]\w*)/g)].map(([, name = '']) => name);
  const made = dashboard.templating.list.map(({ name }) => name);
  assert.deepEqual(new Set(['datasource', ...used]), new Set(made));
  for (const { definition = '' } of dashboard.templating.list.slice(1)) {
    const [, metric = ''] = /^label_values\((\w+)/.exec(definition) ?? [];
    assert.deepEqual(live.findMissing(metric), [], definition);
  }
});
