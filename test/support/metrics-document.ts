/**
 * Writes `docs/reference/metrics.md` from the declarations of the metrics. A test compares the two.
 *
 *   node --import tsx test/support/metrics-document.ts
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format } from 'prettier';
import { declareGauges } from '../../src/telemetry/gauges.ts';
import { metricOf } from '../../src/telemetry/instruments.ts';
import { declareMetrics } from '../../src/telemetry/telemetry.ts';
import { checkout } from './checkout.ts';
import { metricSources } from './metric-sources.ts';

export const metricsDocument = 'docs/reference/metrics.md';

const introduction = `# Metrics

For operators: every metric of \`/metrics\` on the ops port. [deploy/prometheus/alerts.yml](../../deploy/prometheus/alerts.yml) has the alerts, [alerts.md](../alerts.md) their meaning and remedy, [deploy/grafana](../../deploy/README.md#prometheus-and-grafana) a dashboard.

No label has a device id, and the values of every label come from a fixed set. A scrape costs the same with a million devices. A figure that cannot be read within a second has no value.

The ops listener of the core has the metrics of the whole server; those that begin with \`process_\` are of the core with its fronts, and \`nodejs_\` of the core's own thread. They do not include the memory and CPU of edges and media processes. Scrape each node of a cluster separately.

prom-client's own metrics have their usual names, which dashboards for Node.js use: \`process_max_fds\`, \`process_resident_memory_bytes\`, \`process_cpu_seconds_total\`, \`nodejs_eventloop_lag_p99_seconds\` and others; those of the event loop are of the last 15 to 30 s. \`process_open_fds\` has no value above 100 000 descriptors before Linux 6.2.

Requests that ask to wait (\`wait\` of the event log and of the outcome of a wakeup, a message with \`wake\`) are in \`reveille_http_long_poll_duration_seconds\` and not in \`reveille_http_request_duration_seconds\`. A histogram has the series \`_bucket\`, \`_sum\` and \`_count\`. This page is generated from the declarations in \`src/telemetry\` by \`test/support/metrics-document.ts\`.

## All metrics

| name | type | labels | meaning |
|---|---|---|---|
`;

interface DeclaredMetric {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly labels: readonly string[];
  readonly help: string;
}

export function declaredMetrics(): readonly DeclaredMetric[] {
  const declared: DeclaredMetric[] = [];
  const add = (type: DeclaredMetric['type'], name: string, help: string, ...labels: string[]) => {
    declared.push({ name: metricOf(name), type, labels, help });
    return () => undefined;
  };
  declareGauges(
    {
      gauge: (name, help) => add('gauge', name, help),
      labelledGauge: (name, help, label) => add('gauge', name, help, label),
      info: (name, help, labels) => add('gauge', name, help, ...labels),
    },
    metricSources(),
  );
  declareMetrics({
    counter: (name, help, label) => add('counter', `${name}_total`, help, label),
    total: (name, help) => add('counter', `${name}_total`, help),
    histogram: (name, help) => add('histogram', name, help),
    requestHistogram: (name, help) => add('histogram', name, help, 'route', 'status', 'code'),
  });
  return declared.toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

export function writeMetricsDocument(): Promise<string> {
  const rows = declaredMetrics().map(
    ({ name, type, labels, help }) =>
      `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${help} |`,
  );
  return format(`${introduction}${rows.join('\n')}\n`, { parser: 'markdown' });
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  writeFileSync(new URL(metricsDocument, checkout), await writeMetricsDocument());
