/** A process's log: what it warns of goes into the trace, and a line that only a mistake of ours can cause is a violation. */
import { DiskFull } from './memory-store.ts';
import { SharedStateUnavailable } from '../../src/core/ports/session-locator.ts';
import type { Log } from '../../src/lib/log.ts';
import type { Evidence } from './evidence.ts';

/** Of faults that a run brings about itself: a disk that refuses, NATS that is away, and a node that is back before its lease is over. */
const expectedErrors = [
  /^store: refuses writes/,
  /^stopping: \d+ changes are lost/,
  /^webhook store: refuses writes/,
  /^two processes have the node name/,
];

export class SimulatedLog implements Log {
  readonly #name: string;
  readonly #evidence: Evidence;

  constructor(name: string, evidence: Evidence) {
    this.#name = name;
    this.#evidence = evidence;
  }

  debug(): void {}

  info(): void {}

  warn(_fields: object, message: string): void {
    this.#evidence.note(`${this.#name} warns: ${message}`);
  }

  error(fields: object, message: string): void {
    this.#evidence.note(`${this.#name} logs an error: ${message}`);
    if (expectedErrors.some((expected) => expected.test(message))) return;
    const { err } = fields as { readonly err?: unknown };
    if (err instanceof DiskFull || err instanceof SharedStateUnavailable) return;
    const cause = err instanceof Error ? `: ${err.stack ?? err.message}` : '';
    this.#evidence.violated(9, `${this.#name} logs an error: ${message}${cause}`);
  }
}
