/**
 * Beats at an even rate in real time, for whatever is played. A beat that comes late moves none of those behind it, and
 * beats whose time has passed are left out: nothing is played twice, nor in a burst.
 */
import type { Cancel, Clock } from '../../lib/clock.ts';

/** Of a beat: moments are sums of binary fractions. */
const tolerance = 1e-6;

export class Metronome {
  readonly #clock: Clock;
  readonly #perSecond: number;
  readonly #heartbeat: (atMs: number) => void;
  readonly #startedMs: number;
  #cancel: Cancel;
  #isStopped = false;
  /** Of the last beat; the first is 0. */
  #number = -1;
  #missed = 0;

  /** `beat` is told its moment, milliseconds since the first one, which comes as soon as the caller is done. */
  constructor(clock: Clock, perSecond: number, heartbeat: (atMs: number) => void) {
    this.#clock = clock;
    this.#perSecond = perSecond;
    this.#heartbeat = heartbeat;
    this.#startedMs = clock.monotonicMs();
    this.#cancel = clock.after(0, () => this.#wake());
  }

  /** Beats that were left out. */
  get missed(): number {
    return this.#missed;
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  /** A timer may come a little early: then nothing is due yet. */
  #wake(): void {
    const elapsedMs = this.#clock.monotonicMs() - this.#startedMs;
    const number = Math.floor((elapsedMs * this.#perSecond) / 1000 + tolerance);
    if (number > this.#number) {
      this.#missed += number - this.#number - 1;
      this.#number = number;
      this.#heartbeat(this.#momentOf(number));
    }
    if (this.#isStopped) return;
    const nextMs = this.#startedMs + this.#momentOf(this.#number + 1);
    this.#cancel = this.#clock.after(Math.max(0, nextMs - this.#clock.monotonicMs()), () => this.#wake());
  }

  #momentOf(number: number): number {
    return (number * 1000) / this.#perSecond;
  }
}
