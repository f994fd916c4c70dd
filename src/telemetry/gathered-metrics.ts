/**
 * The metrics of several processes that are one server, as one scrape. The server's own (`reveille_…`) are one number:
 * counters, histograms and gauges are summed, so that dashboards and alerts need not know how many processes there
 * are. Those of a process alone (memory, CPU, event loop) stand once for each, with `process="n"`.
 *
 * A sum must not fall when a process dies, or every rate of it would leap: what it had counted when it last answered
 * stays in the sum for as long as this process lives. Of one that does not answer in time the last answer counts.
 *
 * prom-client's own aggregation takes its JSON and not text, which the histograms of hot paths never are, and has
 * neither labels by process nor sums that outlive one.
 */
import { processMetrics, type ProcessFigures } from './gauges.ts';
import type { Exposition } from './metrics.ts';

/** One run of one process. */
export interface MetricSource {
  /** Never that of another run. */
  readonly member: string;
  readonly process: number;
  /** Null: no answer. Never rejects. */
  read(): Promise<string | null>;
}

export interface GatheringDeps {
  /** The metrics of this process. */
  readonly own: Exposition;
  readonly process: number;
  /** All others that live. */
  others(): readonly MetricSource[];
  /** Of all that there are or should be. */
  processes(): readonly ProcessFigures[];
}

interface Scraped {
  readonly process: number;
  readonly families: readonly MetricFamily[];
}

const summedPrefix = 'reveille_';

export class GatheredMetrics implements Exposition {
  readonly #deps: GatheringDeps;
  /** The last answer of each living member. */
  readonly #latest = new Map<string, Scraped>();
  /** Counts of the members that are gone. */
  readonly #kept = new Map<string, MetricFamily>();

  constructor(deps: GatheringDeps) {
    this.#deps = deps;
  }

  get contentType(): string {
    return this.#deps.own.contentType;
  }

  async expose(): Promise<string> {
    const { own, process } = this.#deps;
    const sources = this.#deps.others();
    this.#retire(new Set(sources.map(({ member }) => member)));
    const [text] = await Promise.all([own.expose(), ...sources.map((source) => this.#read(source))]);
    const families = new Map<string, MetricFamily>();
    for (const family of this.#kept.values()) addFamily(families, family);
    addScraped(families, { process, families: parseExposition(text) });
    for (const scraped of this.#latest.values()) addScraped(families, scraped);
    return writeExposition(families.values()) + exposeProcesses(this.#deps.processes());
  }

  async #read(source: MetricSource): Promise<void> {
    const { member, process } = source;
    const text = await source.read();
    if (text !== null) this.#latest.set(member, { process, families: parseExposition(text) });
  }

  #retire(living: ReadonlySet<string>): void {
    for (const [member, { families }] of this.#latest)
      if (!living.has(member)) {
        this.#latest.delete(member);
        for (const family of families) if (isCounted(family)) addFamily(this.#kept, family);
      }
  }
}

function exposeProcesses(processes: readonly ProcessFigures[]): string {
  const families = processMetrics.map(({ name, help, type, read }) => {
    const samples = processes.map((figures) => `${name}{process="${figures.process}"} ${read(figures)}\n`);
    return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${samples.join('')}`;
  });
  return families.join('\n');
}

/** The server's own, and never falling. */
function isCounted({ name, type }: MetricFamily): boolean {
  return name.startsWith(summedPrefix) && type !== 'gauge';
}

function addScraped(families: Map<string, MetricFamily>, { process, families: read }: Scraped): void {
  for (const family of read)
    addFamily(families, family.name.startsWith(summedPrefix) ? family : labelled(family, process));
}

function labelled(family: MetricFamily, process: number): MetricFamily {
  const label = `process="${process}"`;
  return {
    ...family,
    samples: new Map(Array.from(family.samples, ([key, value]) => [withLabel(key, label), value])),
  };
}

function addFamily(families: Map<string, MetricFamily>, { samples, ...family }: MetricFamily): void {
  const sum = families.get(family.name) ?? { ...family, samples: new Map<string, number>() };
  families.set(family.name, sum);
  for (const [key, value] of samples) sum.samples.set(key, (sum.samples.get(key) ?? 0) + value);
}

/** A metric with its samples, as read from the text of a process of this release. */
interface MetricFamily {
  readonly name: string;
  /** The lines that begin it. */
  readonly head: string;
  readonly type: string;
  /** By the whole of what stands before the value: `name_bucket{le="1"}`. */
  readonly samples: Map<string, number>;
}

const sampleForm = /^([a-zA-Z_:][a-zA-Z0-9_:]*(?:\{.*\})?) ([^ ]+)$/;
const typeForm = /^# TYPE (\S+) (\S+)$/;
const helpForm = /^# HELP (\S+) /;

/** In the order of the text; a line of another form is passed over. */
function parseExposition(text: string): readonly MetricFamily[] {
  const families: MetricFamily[] = [];
  let help = '';
  let family: MetricFamily | null = null;
  for (const line of text.split('\n')) {
    if (helpForm.test(line)) help = line;
    const [, name, type] = typeForm.exec(line) ?? [];
    if (name !== undefined && type !== undefined) {
      family = { name, type, head: `${help}\n${line}\n`, samples: new Map() };
      families.push(family);
    }
    const [, key, value] = sampleForm.exec(line) ?? [];
    if (family !== null && key?.startsWith(family.name) === true) family.samples.set(key, Number(value));
  }
  return families;
}

function writeExposition(families: Iterable<MetricFamily>): string {
  let text = '';
  for (const { head, samples } of families) {
    text += head;
    for (const [key, value] of samples) text += `${key} ${writeValue(value)}\n`;
    text += '\n';
  }
  return text;
}

/** The same sample with one more label, first. */
function withLabel(key: string, label: string): string {
  const brace = key.indexOf('{');
  return brace === -1 ? `${key}{${label}}` : `${key.slice(0, brace)}{${label},${key.slice(brace + 1)}`;
}

function writeValue(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
}
