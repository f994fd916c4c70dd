/**
 * The media process as the rest of the server has it: one or none, whoever started it. It is asked and told over its
 * link; while there is none, nobody can be let in, and calls wait as long as they live. Source: calls-and-media.md, The
 * media process.
 */
import type { Duplex } from 'node:stream';
import type { Cancel } from '../../lib/clock.ts';
import type { SessionId } from '../../model/ids.ts';
import { mediaStartMsMax } from '../../model/limits.ts';
import type { MediaView } from '../../model/picture.ts';
import type {
  MediaAddress,
  MediaProcessCounts,
  MediaProcessSettings,
} from '../../protocol/media-link/media-values.ts';
import { ServerEnd, type ServerEndDeps } from '../../media/link/server-end.ts';

export type MediaConnectionDeps = Omit<ServerEndDeps, 'settings' | 'onEnd'>;

export class MediaConnection {
  readonly #deps: MediaConnectionDeps;
  #end: ServerEnd | null = null;
  #address: MediaAddress | null = null;

  constructor(deps: MediaConnectionDeps) {
    this.#deps = deps;
  }

  /** Null: none is there, or it does not listen yet. */
  get address(): MediaAddress | null {
    return this.#address;
  }

  /** By one that listens, or may come to. */
  get isTaken(): boolean {
    return this.#end !== null;
  }

  /**
   * A media process has come, and the one before it is gone. Resolves to where it listens; rejects with what keeps it
   * from it, and then its link ends. `settings`: null for one that has its own. `onEnd`: the link has ended, and every
   * leg of it is gone; with a sentence of what went wrong, or null when one of the two hung up in order.
   */
  async attach(
    link: Duplex,
    settings: MediaProcessSettings | null,
    onEnd: (fault: string | null) => void,
  ): Promise<MediaAddress> {
    const end = new ServerEnd(link, {
      ...this.#deps,
      settings,
      onEnd: (fault) => {
        this.#detach(end);
        onEnd(fault);
      },
    });
    this.#end = end;
    this.#address = null;
    try {
      const address = await this.#inTime(end.listening);
      if (this.#end !== end) throw new Error('it hung up as soon as it listened');
      this.#address = address;
      return address;
    } catch (error) {
      void end.end();
      throw error;
    }
  }

  /** Null: it has no such session, or there is no media process, or it does not answer. */
  view(sessionId: SessionId): Promise<MediaView | null> {
    return this.#end?.view(sessionId) ?? Promise.resolve(null);
  }

  /** As of a second ago; null: no media process. */
  counts(): MediaProcessCounts | null {
    return this.#end?.counts() ?? null;
  }

  keysChanged(): void {
    this.#end?.updateKeys();
  }

  reloadTls(): void {
    this.#end?.reloadTls();
  }

  /** It takes no more connections, and ends behind the legs that the leg service closes. Resolves when the link has ended. */
  async drain(): Promise<void> {
    const end = this.#end;
    await end?.drain();
    await end?.end();
  }

  /** Ends the link, and with it the process that has no other. */
  close(): void {
    void this.#end?.end();
  }

  async #inTime(listening: Promise<MediaAddress>): Promise<MediaAddress> {
    let giveUp: Cancel = () => undefined;
    const late = new Promise<never>((_, reject) => {
      giveUp = this.#deps.clock.after(mediaStartMsMax, () => {
        reject(new Error(`it did not listen within ${mediaStartMsMax} ms`));
      });
    });
    return Promise.race([listening, late]).finally(giveUp);
  }

  #detach(end: ServerEnd): void {
    if (this.#end !== end) return;
    this.#end = null;
    this.#address = null;
  }
}
