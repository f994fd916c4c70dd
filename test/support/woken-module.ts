/** A sleeping module that identifies its packets by their custom data, in whatever order they arrive. */
import type { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';

export class WokenModule {
  readonly #module: SleepingModule;
  /** Custom data of packets that were not awaited yet, including those of wakeups whose answer was lost. */
  readonly #arrived = new Set<string>();
  readonly #awaited = new Map<string, () => void>();

  constructor(module: SleepingModule) {
    this.#module = module;
    // Reading rejects when the module closes at the end.
    this.#read().catch(() => undefined);
  }

  heartbeat(): void {
    this.#module.heartbeat();
  }

  close(): Promise<void> {
    return this.#module.close();
  }

  /** Resolves when a packet with these two bytes, in hex, has arrived. */
  async arrived(customData: string): Promise<void> {
    if (this.#arrived.delete(customData)) return;
    await new Promise<void>((resolve) => this.#awaited.set(customData, resolve));
    this.#awaited.delete(customData);
  }

  async #read(): Promise<never> {
    for (;;) {
      const customData = (await this.#module.nextPacket()).toString('hex', 6);
      const awaited = this.#awaited.get(customData);
      if (awaited === undefined) this.#arrived.add(customData);
      else awaited();
    }
  }
}
