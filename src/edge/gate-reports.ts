/** Log lines of the gate of the edges that strangers can cause: one of a kind in a second. */
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';

const reportMsMin = 1000;

export class GateReports {
  readonly #deps: { readonly clock: Clock; readonly log: Log };
  readonly #reportedMs = { refusal: -Infinity, failure: -Infinity };

  constructor(deps: { readonly clock: Clock; readonly log: Log }) {
    this.#deps = deps;
  }

  refused(sentence: string): void {
    if (this.#isTimely('refusal')) this.#deps.log.warn({}, sentence);
  }

  /** Not of strangers alone: a login could not be verified. */
  failed(error: unknown): void {
    if (this.#isTimely('failure'))
      this.#deps.log.error(
        { error: String(error) },
        'cannot verify sleep logins: the registry is unreadable',
      );
  }

  #isTimely(line: 'refusal' | 'failure'): boolean {
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs - this.#reportedMs[line] < reportMsMin) return false;
    this.#reportedMs[line] = nowMs;
    return true;
  }
}
