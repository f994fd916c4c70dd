/**
 * The server's view of a media process, connected or not, started by this server or elsewhere. Requests go over its link; without a
 * link no leg is admitted, and calls wait until they expire. Source: calls-and-media.md, The media process.
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
    /** `instance`: identity of the process, the same at each reconnect. */
    processConnected(instance: string): void;
    /** About once a second. */
    loadReported(): void;
    processDisconnected(): void;
  };
}

/** Addresses of a media process: where it listens, and the origin it advertises. */
export interface MediaReach extends MediaListening {
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

  /** Number of this one among the server's media processes. */
  get process(): number {
    return this.#deps.process;
  }

  /** Null: not connected, or it does not listen yet. */
  get address(): MediaAddress | null {
    return this.#address;
  }

  /** Address of the connected process, or of the last one; null: none so far. */
  get lastReach(): MediaReach | null {
    return this.#lastReach;
  }

  /** Null: not connected, or no hello yet. */
  get instance(): string | null {
    return this.#instance;
  }

  /** SHA-256 of its listener's certificate; null: no TLS. */
  get certificate(): string | null {
    return this.#end?.counts()?.certificate ?? null;
  }

  /** True: a process is connected, listening or about to listen. */
  get isTaken(): boolean {
    return this.#end !== null;
  }

  /**
   * Called when a media process connects; the previous one has ended. Resolves with its listen address. Rejects, and ends the link, when
   * it cannot listen. `settings`: sent to it; null: it has its own. `onEnd`: the link and all its legs have ended; with a sentence about
   * the fault, or null for an orderly end.
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
        owner.processConnected(instance);
      },
      onCounts: () => owner.loadReported(),
      onEnd: (fault) => {
        this.#detach(end);
        owner.processDisconnected();
        onEnd(fault);
      },
    });
    this.#end = end;
    this.#address = null;
    try {
      // For a child the supervisor has a deadline.
      const late = `it did not listen within ${mediaStartMsMax} ms`;
      const listening =
        settings === null ? inTime(this.#deps.clock, mediaStartMsMax, end.listening, late) : end.listening;
      const { address, advertise } = reachOf(settings, await listening);
      if (this.#end !== end) throw new Error('it disconnected as soon as it listened');
      this.#address = address;
      this.#lastReach = { process, address, advertise };
      return address;
    } catch (error) {
      void end.end();
      throw error;
    }
  }

  /** Null: no such session, not connected, or no answer. */
  view(sessionId: SessionId): Promise<MediaView | null> {
    return this.#end?.view(sessionId) ?? Promise.resolve(null);
  }

  /** Up to a second old; null: it accepts no legs. */
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

  /** Resolves with the reason why the old certificate stays; null: reloaded, or not connected. */
  async reloadTls(): Promise<string | null> {
    return (await this.#end?.reloadTls()) ?? null;
  }

  /** Stops accepting, and ends once the leg service has closed its legs. Resolves when the link has ended. */
  async drain(): Promise<void> {
    const end = this.#end;
    await end?.drain();
    await end?.end();
  }

  /** Ends the link, and with it a process that was started by this server. */
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

/** Trusts the settings sent to a child rather than its own report, except for a free port: the process may be compromised. */
function reachOf(settings: MediaProcessSettings | null, reported: MediaListening): MediaListening {
  if (settings === null) return reported;
  const { legs, advertise } = settings;
  return {
    address: { host: legs.host, port: legs.port === 0 ? reported.address.port : legs.port },
    advertise,
  };
}
