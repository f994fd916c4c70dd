/** Wakes now and then one by chance of the devices that are asleep, and says what became of it. */
import type { Cancel, Clock } from '../../lib/clock.ts';
import type { WakeupOutcomeData } from '../../client/reveille-client.ts';

export interface RandomWakerDeps {
  readonly clock: Clock;
  /** One that is asleep; null: none is. */
  readonly pick: () => string | null;
  /** Wakes it and waits for the outcome; rejects when it could not be woken, or nobody knows. */
  readonly wake: (deviceId: string) => Promise<WakeupOutcomeData>;
  readonly onOutcome: (outcome: WakeupOutcomeData) => void;
  readonly onTrouble: (deviceId: string, error: Error) => void;
}

/** Wakeups whose outcome is awaited; beyond it nobody is woken. */
const awaitedMax = 64;

export class RandomWaker {
  readonly #deps: RandomWakerDeps;
  #awaited = 0;
  #cancel: Cancel | null = null;

  constructor(deps: RandomWakerDeps) {
    this.#deps = deps;
  }

  start(everyMs: number): void {
    this.#cancel = this.#deps.clock.every(everyMs, () => void this.#wakeOne());
  }

  /** What is awaited still is not told any more. */
  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
  }

  async #wakeOne(): Promise<void> {
    const deviceId = this.#awaited < awaitedMax ? this.#deps.pick() : null;
    if (deviceId === null) return;
    this.#awaited += 1;
    try {
      const outcome = await this.#deps.wake(deviceId);
      if (this.#cancel !== null) this.#deps.onOutcome(outcome);
    } catch (error) {
      if (this.#cancel !== null) this.#deps.onTrouble(deviceId, error as Error);
    } finally {
      this.#awaited -= 1;
    }
  }
}
