/** The service of every peer. */
import { answerQuestions } from '../harness/ipc.ts';
import { monotonicMs } from '../harness/latency.ts';

export interface PeerPorts {
  readonly httpPort: number;
  readonly devicePort: number;
}

export type PeerProtocol = {
  listen: { take: null; give: PeerPorts };
  /** Answered when this many devices are connected, with the time on the shared clock. */
  connected: { take: number; give: number };
};

/** Counts accepted devices, for a peer without a login protocol. */
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

export function answerAsPeer(listen: () => Promise<PeerPorts>, arrivals = new Arrivals()): void {
  answerQuestions<PeerProtocol>({ listen, connected: (count) => arrivals.until(count) });
}
