/**
 * A media process on a machine of its own: `reveille serve --only media`. It connects to its server's gate, serves as long
 * as the link lasts, and connects again. Its settings and its log are its own. Source: calls-and-media.md, The media process.
 */
import type { Duplex } from 'node:stream';
import { type Clock, settlesWithin } from '../../lib/clock.ts';
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

export interface RemoteMediaDeps extends Pick<MediaServerDeps, 'openTranscoders'> {
  readonly clock: Clock;
  readonly log: Log;
  readonly server: { readonly host: string; readonly port: number };
  /** Shared with the server. */
  readonly key: Buffer;
  /** Each time it serves. */
  readonly onListening: (address: MediaAddress) => void;
}

export class RemoteMedia {
  readonly #settings: MediaProcessSettings;
  readonly #deps: RemoteMediaDeps;
  readonly #stopped = deferred<null>();
  #isStopping = false;
  #end: MediaEnd | null = null;
  #server: RunningMediaServer | null = null;
  readonly #restarts: Restarts;
  /** Since it connected last. */
  #hasServed = false;

  constructor(settings: MediaProcessSettings, deps: RemoteMediaDeps) {
    this.#settings = settings;
    this.#deps = deps;
    const [msMin, msMax] = [mediaRestartMsMin, mediaRestartMsMax];
    this.#restarts = new Restarts(deps.clock, { immediate: 0, msMin, msMax });
  }

  /** Resolves when it was stopped. Rejects when it cannot listen, which trying again would not change. */
  async run(): Promise<void> {
    while (!this.#isStopping) {
      const fault = await this.#serveOnce();
      const waitMs = this.#restarts.died(this.#hasServed);
      if (fault !== null && !this.#isStopping)
        this.#deps.log.warn({ fault, retry_ms: waitMs }, 'not linked to the server; it is tried again');
      await settlesWithin(this.#deps.clock, waitMs, this.#stopped.promise);
    }
  }

  reloadTls(): void {
    const reason = this.#server?.reloadTls() ?? null;
    if (reason !== null)
      this.#deps.log.error({ reason, listener: 'media' }, 'certificate not reloaded; the one in force stays');
  }

  /** Sends its legs away, and ends. */
  stop(): void {
    this.#isStopping = true;
    this.#stopped.resolve(null);
    void this.#end?.end();
  }

  /** Why there is no link; null: there was one, and it has ended. Rejects as `run` does. */
  async #serveOnce(): Promise<string | null> {
    this.#hasServed = false;
    try {
      const link = await this.#connect();
      if (link !== null) await this.#serve(link);
      return null;
    } catch (error) {
      if (error instanceof CannotServe) throw error.cause;
      return messageOf(error);
    }
  }

  /** Null: it was stopped meanwhile. */
  async #connect(): Promise<Duplex | null> {
    const { clock, server, key } = this.#deps;
    const connecting = connectPsk({ ...server, key }, mediaPsk, clock);
    const link = await Promise.race([connecting, this.#stopped.promise]);
    if (link === null)
      connecting.then(
        (late) => late.destroy(),
        () => undefined,
      );
    return link;
  }

  /** Until the link ends. */
  async #serve(link: Duplex): Promise<void> {
    const { clock, log, onListening } = this.#deps;
    const ended = deferred<string | null>();
    const end = new MediaEnd({ clock, onEnd: ended.resolve });
    end.attach(link);
    this.#end = end;
    if (this.#isStopping) void end.end();
    await end.started();
    const server = await this.#listen(end);
    this.#server = server;
    this.#hasServed = true;
    onListening(server.address);
    const fault = await ended.promise;
    if (!this.#isStopping) log.warn({ fault }, 'the link to the server has ended');
    await server.drain();
    this.#server = null;
    await server.close();
  }

  async #listen(end: MediaEnd): Promise<RunningMediaServer> {
    const { clock, log, openTranscoders } = this.#deps;
    try {
      return await startMediaServer(this.#settings, { clock, log, end, openTranscoders });
    } catch (cause) {
      end.failed(messageOf(cause));
      await end.end();
      throw new CannotServe(cause);
    }
  }
}

class CannotServe extends Error {
  constructor(cause: unknown) {
    super('the media process cannot serve', { cause });
  }
}
