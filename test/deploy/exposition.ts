/** `/metrics` of a running server: metrics by name, with the labels of their samples. */
import { declaredMetrics } from '../support/metrics-document.ts';
import { matches, readQuery, type Matcher } from './query.ts';

export interface ExposedMetric {
  readonly type: string;
  readonly samples: readonly Readonly<Record<string, string>>[];
}

const lines = /^# TYPE (\S+) (\S+)$|^([A-Za-z_:][\w:]*)(?:\{(.*)\})? \S+$/gm;
const histogramPart = /_(?:bucket|sum|count)$/;
/** Labels that Prometheus adds to every sample. */
const addedLabels: ReadonlySet<string> = new Set(['job', 'instance']);
/** Metrics of each process also have the label `process`. */
const perProcess = /^(?:process|nodejs)_/;
/** Metrics that Prometheus itself generates. */
const madeByPrometheus: ReadonlySet<string> = new Set(['up', 'ALERTS']);

export class Exposition {
  readonly #metrics = new Map<string, ExposedMetric>();
  readonly #declared = new Map(declaredMetrics().map(({ name, labels }) => [name, labels]));

  constructor(text: string) {
    for (const [, named, type, sampled, labels = ''] of text.matchAll(lines)) {
      if (named !== undefined && type !== undefined) this.#metrics.set(named, { type, samples: [] });
      if (sampled === undefined) continue;
      const name = this.#baseOf(sampled);
      const { type: kind, samples } = this.#metrics.get(name) ?? { type: 'untyped', samples: [] };
      const sample = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label, value]) => [label, value]);
      this.#metrics.set(name, { type: kind, samples: [...samples, Object.fromEntries(sample)] });
    }
  }

  get size(): number {
    return this.#metrics.size;
  }

  /** Metrics and labels in an expression that this server does not expose, one sentence each. */
  findMissing(expression: string): string[] {
    const { metrics, grouping } = readQuery(expression);
    const known = metrics.filter(({ metric }) => !madeByPrometheus.has(metric));
    const missing = known.flatMap(({ metric, matchers }) => this.#findMissingIn(metric, matchers));
    const grouped = new Set(known.flatMap(({ metric }) => [...this.#labelsOf(metric)]));
    for (const label of grouping)
      if (!addedLabels.has(label) && !grouped.has(label)) missing.push(`no label ${label} to group by`);
    return missing;
  }

  #findMissingIn(metric: string, matchers: readonly Matcher[]): string[] {
    const exposed = this.#metrics.get(this.#baseOf(metric));
    if (exposed === undefined) return [`no metric ${metric}`];
    const isPart = metric !== this.#baseOf(metric);
    if (isPart !== (exposed.type === 'histogram')) return [`${metric} is a ${exposed.type}`];
    const labels = this.#labelsOf(metric);
    const asked = matchers.filter(({ label }) => !addedLabels.has(label));
    return asked.flatMap((matcher) => {
      if (!labels.has(matcher.label)) return [`${metric} has no label ${matcher.label}`];
      const values = exposed.samples.map((sample) => sample[matcher.label] ?? '');
      const isKnown = values.length === 0 || values.some((value) => matches(matcher, value));
      return isKnown ? [] : [`${metric} has no ${matcher.label}${matcher.operator}"${matcher.value}"`];
    });
  }

  #labelsOf(metric: string): ReadonlySet<string> {
    const name = this.#baseOf(metric);
    const sampled = this.#metrics.get(name)?.samples.flatMap(Object.keys) ?? [];
    const labels = new Set([...sampled, ...(this.#declared.get(name) ?? [])]);
    if (metric.endsWith('_bucket')) labels.add('le');
    if (perProcess.test(name)) labels.add('process');
    return labels;
  }

  /** The name of the histogram for one of its series; any other name unchanged. */
  #baseOf(metric: string): string {
    const base = metric.replace(histogramPart, '');
    return this.#metrics.get(base)?.type === 'histogram' ? base : metric;
  }
}
