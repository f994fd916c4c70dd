/**
 * A media process as the rest of the server has it: there or not, whoever started it; on this
 * machine or another one. It is asked and told over its link; while there is none, nobody can be let in, and calls wait as long as
 * they live. Source: calls-and-media.md, The media process.
 */
import type { Duplex } from 'node:stream';
import { inTime } from '../../lib/clock.ts';
import type { SessionId } from '../../model/ids.ts';
import { mediaStartMsMax } from '../../model/limits.ts';
import type { MediaCapacity } from '../../model/media/media-capacity.ts';
import type {
  MediaAddress,
  MediaProcessSettings,
  MediaView,
} from '../../protocol/media-link/media-values.ts';
import { type MediaListening, ServerEnd, type ServerEndDeps } from '../../media/link/server-end.ts';
import { formatListenAddress } from '../../lib/connections/listen-address.ts';

export interface MediaConnectionDeps extends Omit<ServerEndDeps, 'onHello' | 'onCounts' | 'onEnd'> {
  readonly owner: {
    /** `instance`: of the process, the same each time that it comes. */
    came(instance: string): void;
    /** About once a second. */
    loadReported(): void;
    gone(): void;
  };
}

/** Where a media process listens, and by which origins it says that clients reach it. */
export interface MediaReach extends MediaListening {
  /** The number of the process. */
  readonly process: number;
}

export class MediaConnection {
  readonly #deps: MediaConnectionDeps;
  #end: ServerEnd | null = null;
  #address: MediaAddress | null = null;
  #lastReach: MediaReach | null = null;
  #instance: string | null = null;

  constructor(deps: MediaConnectionDeps) {
    this.#deps = deps;
  }

  /** Of the server's media processes. */
  get process(): number {
    return this.#deps.process;
  }

  /** Null: none is there, or it does not listen yet. */
  get address(): MediaAddress | null {
    return this.#address;
  }

  /** Where the one that is there listens, or the one before it did; null: there was none yet. */
  get lastReach(): MediaReach | null {
    return this.#lastReach;
  }

  /** Null: none is there, or it has not said hello yet. */
  get instance(): string | null {
    return this.#instance;
  }

  /** SHA-256 of its listener's certificate; null: it takes plain connections. */
  get certificate(): string | null {
    return this.#end?.counts()?.certificate ?? null;
  }

  /** By one that listens, or may come to. */
  get isTaken(): boolean {
    return this.#end !== null;
  }

  /**
   * A media process has come, and the one before it is gone. Resolves to where it listens; rejects with what keeps it
   * from it, and then its link ends. `settings`: those that it was given; null: it has its own. `onEnd`: the link has ended, and every
   * leg of it is gone; with a sentence of what went wrong, or null when one of the two hung up in order.
   */
  async attach(
    link: Duplex,
    settings: MediaProcessSettings | null,
    onEnd: (fault: string | null) => void,
  ): Promise<MediaAddress> {
    const { owner, process } = this.#deps;
    const end = new ServerEnd(link, {
      ...this.#deps,
      onHello: (instance) => {
        this.#instance = instance;
        owner.came(instance);
      },
      onCounts: () => owner.loadReported(),
      onEnd: (fault) => {
        this.#detach(end);
        owner.gone();
        onEnd(fault);
      },
    });
    this.#end = end;
    this.#address = null;
    try {
      // A child has a deadline of its supervisor.
      const late = `it did not listen within ${mediaStartMsMax} ms`;
      const listening =
        settings === null ? inTime(this.#deps.clock, mediaStartMsMax, end.listening, late) : end.listening;
      const { address, advertise } = reachOf(settings, await listening);
      if (this.#end !== end) throw new Error('it hung up as soon as it listened');
      this.#address = address;
      this.#lastReach = { process, address, advertise };
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

  /** As of a second ago; null: none takes legs. */
  capacity(): MediaCapacity | null {
    const counts = this.#end?.counts() ?? null;
    if (counts === null || this.#address === null) return null;
    const { legs, sessions, workers, engine, soundEncoders } = counts;
    const address = formatListenAddress(this.#address);
    return { process: this.process, address, legs, sessions, workers, engine, soundEncoders };
  }

  keysChanged(): void {
    this.#end?.updateKeys();
  }

  /** Resolves to why it keeps the certificate that it has; null: it has read the files again, or none is there. */
  async reloadTls(): Promise<string | null> {
    return (await this.#end?.reloadTls()) ?? null;
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

  #detach(end: ServerEnd): void {
    if (this.#end !== end) return;
    this.#end = null;
    this.#address = null;
    this.#instance = null;
  }
}

/** Where one listens that was given its settings they say themselves, but for a free port: it may be in a stranger's hand. */
function reachOf(settings: MediaProcessSettings | null, told: MediaListening): MediaListening {
  if (settings === null) return told;
  const { legs, advertise } = settings;
  return { address: { host: legs.host, port: legs.port === 0 ? told.address.port : legs.port }, advertise };
}
