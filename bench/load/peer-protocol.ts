/** What every peer can be asked. */
import { answerQuestions } from './ipc.ts';

export const peerService = 'peer';

export interface PeerPorts {
  readonly httpPort: number;
  readonly devicePort: number;
}

export type PeerProtocol = {
  listen: { take: null; give: PeerPorts };
  /** Answered when this many devices are connected, with that moment on the clock that all processes share. */
  connected: { take: number; give: number };
};

/** Counts what a peer without a login protocol has accepted, for those who must know when it is done. */
export class Arrivals {
  #count = 0;
  #awaited = Infinity;
  #reached: (nowMs: number) => void = () => undefined;

  add(): void {
    this.#count += 1;
    if (this.#count >= this.#awaited) this.#notify();
  }

  until(count: number): Promise<number> {
    return new Promise((resolve) => {
      this.#awaited = count;
      this.#reached = resolve;
      if (this.#count >= count) this.#notify();
    });
  }

  #notify(): void {
    this.#awaited = Infinity;
    this.#reached(monotonicMs());
  }
}

/** One clock for all processes of this machine (CLOCK_MONOTONIC), in milliseconds. */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e3 + nanoseconds / 1e6;
}

export function answerAsPeer(listen: () => Promise<PeerPorts>, arrivals = new Arrivals()): void {
  answerQuestions<PeerProtocol>(peerService, { listen, connected: (count) => arrivals.until(count) });
}
