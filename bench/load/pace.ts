/** Does something at a fixed rate: every millisecond as much as has come due since, so that a stall is made up for. */

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
