/** The troubles of a fleet by their reason, each with how often it was and what to do about it. */
import { ConnectionFailedError } from '../../cli/shell/connection-failure.ts';

interface TroubleCount {
  readonly reason: string;
  readonly advice: string | null;
  readonly count: number;
}

/** Reasons told apart; a fleet has one or two. */
const reasonsMax = 8;
const others = 'other reasons';

export class FleetTroubles {
  readonly #counts = new Map<string, TroubleCount>();

  /** True: the first of its reason. */
  add(error: Error): boolean {
    const isKnown = this.#counts.has(error.message);
    const reason = isKnown || this.#counts.size < reasonsMax ? error.message : others;
    const before = this.#counts.get(reason);
    const advice = error instanceof ConnectionFailedError && reason !== others ? error.advice : null;
    this.#counts.set(reason, { reason, advice, count: (before?.count ?? 0) + 1 });
    return before === undefined;
  }

  /** The most frequent first. */
  list(): readonly TroubleCount[] {
    return [...this.#counts.values()].sort((one, other) => other.count - one.count);
  }
}
