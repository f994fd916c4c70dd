/** The test's side of gated-worker: waits until a worker has a batch, and orders its outcome. */
import { BroadcastChannel } from 'node:worker_threads';

/** Two channels, because a broadcast reaches everybody on its channel, including other workers. */
export const gateOrders = 'hmac-gate-orders';
export const gateReports = 'hmac-gate-reports';
/** While this environment variable is set, gated-worker cannot be loaded. */
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

  get batchesHeld(): number {
    return this.#held;
  }

  /** Resolves when workers have received `count` batches in total. */
  async untilHeld(count: number): Promise<void> {
    while (this.#held < count) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  order(order: GateOrder): void {
    this.#orders.postMessage(order);
  }

  close(): void {
    this.#orders.close();
    this.#reports.close();
  }
}
