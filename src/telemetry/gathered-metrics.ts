/**
 * Metrics of several processes that are one server, as one scrape. What the house counts (`reveille_…`) is one number:
 * counters, histograms and gauges are summed, so that dashboards and alerts need not know how many processes there
 * are. What is of a process and of nothing else (memory, CPU, event loop) stands once for each, with `process="n"`.
 *
 * A sum must not fall when a process dies, or every rate of it would leap: what it had counted when it was last seen
 * stays in the sum for as long as this process lives. Of one that does not answer in time the last answer counts.
 */
import type { Exposition } from './exposition.ts';
import { parseExposition, withLabel, writeExposition, type MetricFamily } from './exposition-text.ts';

/** One life of one process. */
export interface MetricSource {
  /** Never that of another life. */
  readonly member: string;
  readonly process: number;
  /** Null: no answer. Never rejects. */
  read(): Promise<string | null>;
}

export interface GatheringDeps {
  /** Of this process. */
  readonly own: Exposition;
  readonly process: number;
  /** All others that live. */
  others(): readonly MetricSource[];
  /** What is known of the processes from outside, as text of its own families. */
  figures(): string;
}

interface Scraped {
  readonly process: number;
  readonly families: readonly MetricFamily[];
}

const summedPrefix = 'reveille_';

export class GatheredMetrics implements Exposition {
  readonly #deps: GatheringDeps;
  /** What each member answered last. */
  readonly #latest = new Map<string, Scraped>();
  /** What was counted by those that are gone. */
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
    return writeExposition(families.values()) + this.#deps.figures();
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

/** Of this house, and never falling. */
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
