/** Calls a function at a fixed rate: every millisecond as often as is due, so that a stall is caught up. */

const sliceMs = 1;

export class Pace {
  readonly #timer: NodeJS.Timeout;

  constructor(ratePerSecond: number, act: () => void) {
    const startMs = performance.now();
    let done = 0;
    this.#timer = setInterval(() => {
      const due = Math.floor(((performance.now() - startMs) / 1000) * ratePerSecond);
      for (; done < due; done += 1) act();
    }, sliceMs);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
