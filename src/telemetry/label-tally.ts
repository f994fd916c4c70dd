/** A counter with one label, counted in a map and handed to the metrics library when it is asked for. */
import { Counter, type Registry } from 'prom-client';

/** Labels come from unions of a few words; were one not, what is beyond this would be counted as `other`. */
const labelsMax = 64;

export class LabelTally<Label extends string> {
  readonly #counts = new Map<string, number>();

  /** `known` are exposed as 0 before the first of them is counted. */
  constructor(registry: Registry, name: string, help: string, labelName: string, known: readonly Label[]) {
    for (const label of known) this.#counts.set(label, 0);
    const counts = this.#counts;
    void new Counter({
      name,
      help,
      labelNames: [labelName],
      registers: [registry],
      collect() {
        this.reset();
        for (const [label, count] of counts) this.inc({ [labelName]: label }, count);
      },
    });
  }

  add(label: Label, times = 1): void {
    const counted = this.#counts.has(label) || this.#counts.size < labelsMax ? label : 'other';
    this.#counts.set(counted, (this.#counts.get(counted) ?? 0) + times);
  }
}
