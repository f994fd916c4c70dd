/**
 * A media process that waits beside the one that serves: its code is loaded, which is most of a start, and it does
 * nothing until it is told its settings. Source: calls-and-media.md, The media process.
 */
import type { Cancel, Clock } from '../../lib/clock.ts';
import { mediaSpareDelayMs } from '../../model/limits.ts';
import type { Log } from '../../core/ports/log.ts';
import type { MediaCarrier } from './media-child.ts';

export interface MediaSpareDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly startCarrier: () => MediaCarrier;
}

export class MediaSpare {
  readonly #deps: MediaSpareDeps;
  #carrier: MediaCarrier | null = null;
  #cancel: Cancel = () => undefined;

  constructor(deps: MediaSpareDeps) {
    this.#deps = deps;
  }

  /** Null: there is none, and none is being prepared. */
  take(): MediaCarrier | null {
    this.#cancel();
    const carrier = this.#carrier;
    this.#carrier = null;
    return carrier;
  }

  /** Not at once: what has just begun to serve, and the calls that come back to it, need the machine more. */
  prepare(): void {
    this.#cancel();
    if (this.#carrier === null) this.#cancel = this.#deps.clock.after(mediaSpareDelayMs, () => this.#start());
  }

  close(): void {
    this.take()?.kill();
  }

  #start(): void {
    const { log, startCarrier } = this.#deps;
    try {
      this.#wait(startCarrier());
    } catch (error) {
      log.warn({ err: error }, 'no spare media process can be started');
      this.prepare();
    }
  }

  #wait(carrier: MediaCarrier): void {
    const { pid, link, ended } = carrier;
    const { log } = this.#deps;
    this.#carrier = carrier;
    link.once('readable', () => {
      if (this.#carrier === carrier) log.info({ pid }, 'a spare media process waits');
    });
    void ended.then((how) => {
      if (this.#carrier !== carrier) return;
      this.#carrier = null;
      log.warn({ pid, how }, 'the spare media process died');
      this.prepare();
    });
  }
}
