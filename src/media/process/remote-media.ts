/**
 * A media process on another machine: `reveille serve --only media`. It connects to its server's gate, serves while the link lasts, and
 * reconnects. It has its own settings and log. Source: calls-and-media.md, The media process.
 */
import { type Clock, completesWithin } from '../../lib/clock.ts';
import { deferred } from '../../lib/deferred.ts';
import { messageOf } from '../../lib/result.ts';
import { Restarts } from '../../lib/restarts.ts';
import { mediaRestartMsMax, mediaRestartMsMin } from '../../model/limits.ts';
import type { MediaAddress, MediaProcessSettings } from '../../protocol/media-link/media-values.ts';
import { MediaEnd } from '../link/media-end.ts';
import { connectPsk } from '../../lib/link/psk-transport.ts';
import { mediaPsk } from '../link/media-language.ts';
import type { Log } from '../../lib/log.ts';
import { startMediaServer, type MediaServerDeps, type RunningMediaServer } from './media-server.ts';

export interface RemoteMediaDeps extends Pick<MediaServerDeps, 'newTranscoders'> {
  readonly clock: Clock;
  readonly log: Log;
  readonly server: { readonly host: string; readonly port: number };
  readonly key: Buffer;
  readonly onListening: (address: MediaAddress) => void;
}

export class RemoteMedia {
  readonly #settings: MediaProcessSettings;
  readonly #deps: RemoteMediaDeps;
  readonly #stopped = deferred();
  #isStopping = false;
  #end: MediaEnd | null = null;
  #server: RunningMediaServer | null = null;
  readonly #restarts: Restarts;

  constructor(settings: MediaProcessSettings, deps: RemoteMediaDeps) {
    this.#settings = settings;
    this.#deps = deps;
    const [msMin, msMax] = [mediaRestartMsMin, mediaRestartMsMax];
    this.#restarts = new Restarts(deps.clock, { immediate: 0, msMin, msMax });
  }

  /** Resolves when it was stopped. Rejects if it cannot listen, which a retry would not change. */
  async run(): Promise<void> {
    const { clock, log } = this.#deps;
    while (!this.#isStopping) {
      const linked = await this.#link().catch(messageOf);
      if (typeof linked === 'object') await this.#serve(linked);
      const waitMs = this.#restarts.died(typeof linked === 'object');
      if (typeof linked === 'string' && !this.#isStopping)
        log.warn({ fault: linked, retry_ms: waitMs }, 'media link: cannot connect to the server; will retry');
      await completesWithin(clock, waitMs, this.#stopped.promise);
    }
  }

  reloadTls(): void {
    const reason = this.#server?.reloadTls() ?? null;
    if (reason !== null)
      this.#deps.log.error(
        { reason, listener: 'media' },
        'certificate: not reloaded; the previous one stays in force',
      );
  }

  stop(): void {
    this.#isStopping = true;
    this.#stopped.resolve();
    void this.#end?.end();
  }

  /** Resolves after the server's hello. Rejects with a sentence, also if it is stopped meanwhile. */
  async #link(): Promise<LinkedEnd> {
    const { clock, server, key } = this.#deps;
    const connecting = connectPsk({ ...server, key }, mediaPsk, clock);
    const link = await Promise.race([connecting, this.#stopped.promise]);
    if (link === undefined) {
      connecting.then(
        (late) => late.destroy(),
        () => undefined,
      );
      throw new Error('it was stopped');
    }
    const ended = deferred<string | null>();
    const end = new MediaEnd({ clock, onEnd: ended.resolve });
    end.attach(link);
    this.#end = end;
    if (this.#isStopping) void end.end();
    await end.started();
    return { end, ended: ended.promise };
  }

  async #serve({ end, ended }: LinkedEnd): Promise<void> {
    const { clock, log, onListening, newTranscoders } = this.#deps;
    const deps = { clock, log, end, newTranscoders };
    const server = await startMediaServer(this.#settings, deps).catch(async (error: unknown) => {
      end.failed(messageOf(error));
      await end.end();
      throw error;
    });
    this.#server = server;
    onListening(server.address);
    const fault = await ended;
    if (!this.#isStopping) log.warn({ fault }, 'media link: ended; its legs are closed; will reconnect');
    await server.drain();
    this.#server = null;
    await server.close();
  }
}

interface LinkedEnd {
  readonly end: MediaEnd;
  /** A sentence; null: an orderly end by either side. */
  readonly ended: Promise<string | null>;
}
