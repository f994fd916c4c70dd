/**
 * Brings notices of the registry to the log, in their order: a slice at a time, each forgotten once the log has its event.
 * What a store refuses is tried again.
 */
import { completesWithin, type Cancel, type Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { noticesRetryMs, noticesSlice, noticesStopMsMax } from '../lmdb/store-limits.ts';
import type { PlacedNotice, RegistryNotices } from './registry-notices.ts';

export interface NoticeTellerDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly notices: Pick<RegistryNotices, 'lastPlace' | 'read' | 'forget'>;
  readonly events: {
    readonly newestPlace: number;
    tell(notices: readonly PlacedNotice[]): Promise<void>;
  };
}

export class NoticeTeller {
  readonly #deps: NoticeTellerDeps;
  #run: Promise<void> | null = null;
  #isDue = false;
  #isStopped = false;
  #cancelRetry: Cancel = () => undefined;

  constructor(deps: NoticeTellerDeps) {
    this.#deps = deps;
  }

  /**
   * Before the registry changes. A store that has lost notices which the log has, to a power failure, goes on behind them.
   * Rejects when a store refuses.
   */
  async start(): Promise<void> {
    const { notices, events } = this.#deps;
    if (notices.lastPlace < events.newestPlace) await notices.forget(events.newestPlace);
    this.poke();
  }

  /** Call it when there may be something to tell. */
  poke(): void {
    this.#isDue = true;
    if (!this.#isStopped) this.#run ??= this.#tellAll();
  }

  /** Resolves when nothing is under way, or a store takes nothing; what is left is told after the next start. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelRetry();
    if (this.#run !== null) await completesWithin(this.#deps.clock, noticesStopMsMax, this.#run);
  }

  async #tellAll(): Promise<void> {
    const { log, clock } = this.#deps;
    this.#cancelRetry();
    try {
      while (this.#isDue && !this.#isStopped) {
        this.#isDue = false;
        while (!this.#isStopped && (await this.#tellSome()));
      }
    } catch (error) {
      log.error({ err: error }, 'changes of the registry cannot be told; tried again in a moment');
      if (!this.#isStopped) this.#cancelRetry = clock.after(noticesRetryMs, () => this.poke());
    }
    this.#run = null;
  }

  /** False: nothing is left. */
  async #tellSome(): Promise<boolean> {
    const { notices, events } = this.#deps;
    // Also those that a crash left, though they were told.
    const waiting = notices.read(noticesSlice);
    const last = waiting.at(-1);
    if (last === undefined) return false;
    const told = events.newestPlace;
    const untold = waiting.filter(({ place }) => place > told);
    if (untold.length > 0) await events.tell(untold);
    await notices.forget(last.place);
    return true;
  }
}
