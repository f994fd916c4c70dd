/** Counts of an edge, sent to its core, which adds them up. */
import { linkTallyItemsMax } from '../model/limits.ts';
import { edgeTallyCountMax, type SleepEndReason, type SleepRefusal } from '../model/sleep.ts';
import type { EdgeTally } from '../protocol/edge-link/edge-message.ts';
import type { SleepTelemetry } from '../telemetry/telemetry.ts';

/** Collects counts until they are sent over the link. Without a link counts wait, and durations beyond the limit are dropped. */
export class EdgeTelemetry implements SleepTelemetry {
  readonly #flush: () => void;
  readonly #logins = new Map<'accepted' | SleepRefusal, number>();
  readonly #ends = new Map<SleepEndReason, number>();
  #writeSeconds: number[] = [];

  /** `flush`: called when the buffer of durations is full. */
  constructor(flush: () => void) {
    this.#flush = flush;
  }

  readonly sleepLogin = (result: 'accepted' | SleepRefusal): void => {
    this.#logins.set(result, (this.#logins.get(result) ?? 0) + 1);
  };

  readonly sleepEnd = (reason: SleepEndReason): void => {
    this.#ends.set(reason, (this.#ends.get(reason) ?? 0) + 1);
  };

  readonly wakeupWrite = (seconds: number): void => {
    if (this.#writeSeconds.length >= linkTallyItemsMax) this.#flush();
    if (this.#writeSeconds.length < linkTallyItemsMax) this.#writeSeconds.push(seconds);
  };

  /** Null: no counts since the last call. */
  next(): EdgeTally | null {
    if (this.#logins.size + this.#ends.size + this.#writeSeconds.length === 0) return null;
    const wakeupWriteSeconds = this.#writeSeconds;
    this.#writeSeconds = [];
    return { logins: drainCounts(this.#logins), ends: drainCounts(this.#ends), wakeupWriteSeconds };
  }
}

/** Moves counts into a message; those beyond its limit stay for the next. */
function drainCounts<Label>(counts: Map<Label, number>): [Label, number][] {
  const taken: [Label, number][] = [];
  for (const [label, count] of counts) {
    const part = Math.min(count, edgeTallyCountMax);
    taken.push([label, part]);
    if (part === count) counts.delete(label);
    else counts.set(label, count - part);
  }
  return taken;
}

/** Adds an edge's counts to the core's. */
export function applyTally(telemetry: SleepTelemetry, { logins, ends, wakeupWriteSeconds }: EdgeTally): void {
  for (const [result, count] of logins) for (let n = 0; n < count; n += 1) telemetry.sleepLogin(result);
  for (const [reason, count] of ends) for (let n = 0; n < count; n += 1) telemetry.sleepEnd(reason);
  for (const seconds of wakeupWriteSeconds) telemetry.wakeupWrite(seconds);
}
