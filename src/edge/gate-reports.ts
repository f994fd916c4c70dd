/** Log lines of the gate of the edges that strangers can cause: one of a kind in a second. */
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { Throttle } from '../lib/throttle.ts';

export class GateReports {
  readonly #log: Log;
  readonly #refusals: Throttle;
  readonly #failures: Throttle;

  constructor({ clock, log }: { readonly clock: Clock; readonly log: Log }) {
    this.#log = log;
    this.#refusals = new Throttle(clock);
    this.#failures = new Throttle(clock);
  }

  refused(sentence: string): void {
    if (this.#refusals.pass()) this.#log.warn({}, sentence);
  }

  /** Not of strangers alone: a login could not be verified. */
  failed(error: unknown): void {
    if (this.#failures.pass())
      this.#log.error({ error: String(error) }, 'cannot verify sleep logins: the registry is unreadable');
  }
}
