/** The counts of an edge on their way to its core, which adds them up. */
import { linkTallyItemsMax } from '../model/limits.ts';
import { edgeTallyCountMax, type SleepEndReason, type SleepRefusal } from '../model/sleep.ts';
import type { EdgeTally } from '../protocol/edge-link/edge-message.ts';
import type { SleepTelemetry } from '../telemetry/telemetry.ts';

/** Counts, added up until they cross the link. While there is none, counts wait, and times beyond the bound are lost. */
export class EdgeTelemetry implements SleepTelemetry {
  readonly #flush: () => void;
  readonly #logins = new Map<'accepted' | SleepRefusal, number>();
  readonly #ends = new Map<SleepEndReason, number>();
  #writeSeconds: number[] = [];

  /** `flush`: called when there is no room for more times. */
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

  /** Null: nothing was counted since the last one. */
  next(): EdgeTally | null {
    if (this.#logins.size + this.#ends.size + this.#writeSeconds.length === 0) return null;
    const wakeupWriteSeconds = this.#writeSeconds;
    this.#writeSeconds = [];
    return { logins: takeCounts(this.#logins), ends: takeCounts(this.#ends), wakeupWriteSeconds };
  }
}

/** Counts beyond the bound of a message stay for the next. */
function takeCounts<Label>(counts: Map<Label, number>): [Label, number][] {
  const taken: [Label, number][] = [];
  for (const [label, count] of counts) {
    const part = Math.min(count, edgeTallyCountMax);
    taken.push([label, part]);
    if (part === count) counts.delete(label);
    else counts.set(label, count - part);
  }
  return taken;
}

/** The core's side of it. */
export function applyTally(telemetry: SleepTelemetry, { logins, ends, wakeupWriteSeconds }: EdgeTally): void {
  for (const [result, count] of logins) for (let n = 0; n < count; n += 1) telemetry.sleepLogin(result);
  for (const [reason, count] of ends) for (let n = 0; n < count; n += 1) telemetry.sleepEnd(reason);
  for (const seconds of wakeupWriteSeconds) telemetry.wakeupWrite(seconds);
}
