/**
 * Appends registry notices to the event log, in order and in slices; a notice is removed once the log has its event. Retries when a
 * store refuses.
 */
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import { completesWithin, type Cancel } from '../../lib/clock.ts';
import { noticesRetryMs, noticesSlice, noticesStopMsMax } from '../lmdb/store-limits.ts';
import type { PlacedNotice, RegistryNotices } from './registry-notices.ts';

export interface NoticePublisherDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly notices: Pick<RegistryNotices, 'lastPlace' | 'read' | 'forget'>;
  readonly events: {
    readonly newestPlace: number;
    append(notices: readonly PlacedNotice[]): Promise<void>;
  };
}

export class NoticePublisher {
  readonly #deps: NoticePublisherDeps;
  #run: Promise<void> | null = null;
  #isDue = false;
  #isStopped = false;
  #cancelRetry: Cancel = () => undefined;

  constructor(deps: NoticePublisherDeps) {
    this.#deps = deps;
  }

  /**
   * Call before the registry changes. If a power failure lost notices that the log has, places continue after them. Rejects when a
   * store refuses.
   */
  async start(): Promise<void> {
    const { notices, events } = this.#deps;
    if (notices.lastPlace < events.newestPlace) await notices.forget(events.newestPlace);
    this.poke();
  }

  poke(): void {
    this.#isDue = true;
    if (!this.#isStopped) this.#run ??= this.#publishAll();
  }

  /** Resolves when no append is under way, after `noticesStopMsMax` at the latest; the rest is published after the next start. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelRetry();
    if (this.#run !== null) await completesWithin(this.#deps.clock, noticesStopMsMax, this.#run);
  }

  async #publishAll(): Promise<void> {
    const { log, clock } = this.#deps;
    this.#cancelRetry();
    try {
      while (this.#isDue && !this.#isStopped) {
        this.#isDue = false;
        while (!this.#isStopped && (await this.#publishSlice()));
      }
    } catch (error) {
      log.error({ err: error }, 'registry events: append to the event log failed; will retry');
      if (!this.#isStopped) this.#cancelRetry = clock.after(noticesRetryMs, () => this.poke());
    }
    this.#run = null;
  }

  async #publishSlice(): Promise<boolean> {
    const { notices, events } = this.#deps;
    // May include notices that a crash left although their events are published.
    const waiting = notices.read(noticesSlice);
    const last = waiting.at(-1);
    if (last === undefined) return false;
    const published = events.newestPlace;
    const unpublished = waiting.filter(({ place }) => place > published);
    if (unpublished.length > 0) await events.append(unpublished);
    await notices.forget(last.place);
    return true;
  }
}
