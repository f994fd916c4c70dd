/** The test's side of gated-worker: waits until a worker holds a batch, and tells it what to do. */
import { BroadcastChannel } from 'node:worker_threads';

/** Two of them, because a broadcast reaches everybody on its channel, other workers too. */
export const gateOrders = 'hmac-gate-orders';
export const gateReports = 'hmac-gate-reports';
/** While it is set in the environment, gated-worker cannot be loaded. */
export const gateFailsVariable = 'TEST_HMAC_GATE_FAILS';

export type GateOrder = 'go' | 'throw' | 'die';

export class Gate {
  readonly #orders = new BroadcastChannel(gateOrders);
  readonly #reports = new BroadcastChannel(gateReports);
  #held = 0;
  #wake: () => void = () => {};

  constructor() {
    this.#reports.onmessage = () => {
      this.#held += 1;
      this.#wake();
    };
  }

  /** Batches that workers took since the test began. */
  get held(): number {
    return this.#held;
  }

  /** Resolves when workers have taken `count` batches in all. */
  async untilHeld(count: number): Promise<void> {
    while (this.#held < count) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** To every batch that is held now. */
  order(order: GateOrder): void {
    this.#orders.postMessage(order);
  }

  close(): void {
    this.#orders.close();
    this.#reports.close();
  }
}
