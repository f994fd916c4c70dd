/** A process's log: warnings go into the trace, and an error that no injected fault explains is a violation. */
import { DiskFull } from './memory-store.ts';
import { SharedStateUnavailable } from '../../src/core/ports/session-locator.ts';
import type { Log } from '../../src/lib/log.ts';
import type { Evidence } from './evidence.ts';

/** Errors that injected faults explain: a failing disk, NATS unreachable, a node that restarts before its lease expires. */
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
    this.#evidence.record(`${this.#name} warns: ${message}`);
  }

  error(fields: object, message: string): void {
    this.#evidence.record(`${this.#name} logs an error: ${message}`);
    if (expectedErrors.some((expected) => expected.test(message))) return;
    const { err } = fields as { readonly err?: unknown };
    if (err instanceof DiskFull || err instanceof SharedStateUnavailable) return;
    const cause = err instanceof Error ? `: ${err.stack ?? err.message}` : '';
    this.#evidence.violated(9, `${this.#name} logs an error: ${message}${cause}`);
  }
}
