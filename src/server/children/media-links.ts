/**
 * Media processes that connect to the server by themselves: those of its site, each by a socket of its own, and those of other
 * machines, by one gate. Each may come late, go, and come again. Source: calls-and-media.md, The media process; scale-out.md, Edges.
 */
import type { Server } from 'node:net';
import type { Duplex } from 'node:stream';
import { completesWithin, type Clock } from '../../lib/clock.ts';
import { formatListenAddress } from '../../lib/connections/listen-address.ts';
import { listenForLinks, type LinkPort } from '../../lib/link/link-key.ts';
import { listenLocally } from '../../lib/link/local-socket.ts';
import type { PskListener } from '../../lib/link/psk-transport.ts';
import { deferred, type Deferred } from '../../lib/deferred.ts';
import type { Log } from '../../lib/log.ts';
import { Throttle } from '../../lib/throttle.ts';
import { declineMedia, mediaPsk } from '../../media/link/media-language.ts';
import { mediaStopMsMax } from '../../model/limits.ts';
import type { MediaProcessSettings } from '../../protocol/media-link/media-values.ts';
import type { MediaConnection } from '../bootstrap/media-connection.ts';
import { mediaChildSettings } from '../config/derived-settings.ts';
import type { Settings } from '../config/settings-schema.ts';
import { edgesBackMsMax, edgesBringMsMax } from '../site/site-limits.ts';

export interface MediaLinksDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** One for each that may come. */
  readonly connections: readonly MediaConnection[];
}

abstract class MediaLinks {
  protected readonly deps: MediaLinksDeps;
  #isShut = false;

  constructor(deps: MediaLinksDeps) {
    this.deps = deps;
  }

  async stop(): Promise<void> {
    this.#shut();
    const { clock, connections } = this.deps;
    const drained = Promise.all(connections.map((connection) => connection.drain()));
    await completesWithin(clock, mediaStopMsMax, drained);
  }

  /** Ends the links: media processes of a site keep their legs, and connect to the next core. */
  close(): void {
    this.#shut();
    for (const connection of this.deps.connections) connection.close();
  }

  /** No more links are accepted. */
  protected abstract stopListening(): void;

  /** `settings`: as of `MediaConnection.attach`. Resolves to whether it listens; never rejects. */
  protected async attach(
    connection: MediaConnection,
    link: Duplex,
    settings: MediaProcessSettings | null,
  ): Promise<boolean> {
    const { log } = this.deps;
    const { process } = connection;
    if (this.#isShut) {
      link.destroy();
      return false;
    }
    try {
      const address = await connection.attach(link, settings, (fault) => {
        if (!this.#isShut)
          log.warn({ media_process: process, fault }, 'the link to a media process has ended');
      });
      log.info(
        { media_process: process, address: formatListenAddress(address) },
        'a media process is linked',
      );
      return true;
    } catch (error) {
      log.error({ media_process: process, err: error }, 'a media process came and does not listen');
      return false;
    }
  }

  #shut(): void {
    this.#isShut = true;
    this.stopListening();
  }
}

/** The site of a core, for its media processes. */
export interface MediaSite {
  /** By their numbers. */
  readonly mediaSockets: readonly string[];
  /** False: media processes hold legs of the core before this one. */
  readonly isFirst: boolean;
}

/** The media processes of a site, which its supervisor starts: each connects again when a core comes back, with the legs that it has. */
export class SiteMedia extends MediaLinks {
  readonly #settings: Settings;
  readonly #site: MediaSite;
  readonly #servers: Server[] = [];
  /** Resolved when the process with their number has brought its legs, and listens. */
  readonly #brought: readonly Deferred<void>[];
  readonly #allBrought: Promise<unknown>;

  constructor(settings: Settings, site: MediaSite, deps: MediaLinksDeps) {
    super(deps);
    this.#settings = settings;
    this.#site = site;
    this.#brought = deps.connections.map(() => deferred());
    this.#allBrought = Promise.all(this.#brought.map(({ promise }) => promise));
  }

  /** Resolves when all have brought the legs of their calls, or need not be waited for any longer. */
  async whenBrought(): Promise<void> {
    if (!this.#site.isFirst) await completesWithin(this.deps.clock, edgesBringMsMax, this.#allBrought);
  }

  /** A core that comes back serves without a media process that is late. */
  async start(): Promise<void> {
    const { clock, connections } = this.deps;
    for (const connection of connections) {
      const path = this.#site.mediaSockets[connection.process] ?? '';
      const welcome = (link: Duplex): void => void this.#welcome(connection, link);
      this.#servers.push(await listenLocally(path, 'media processes', welcome));
    }
    if (this.#site.isFirst) await this.#allBrought;
    else await completesWithin(clock, edgesBackMsMax, this.#allBrought);
  }

  protected stopListening(): void {
    for (const server of this.#servers) server.close();
  }

  async #welcome(connection: MediaConnection, link: Duplex): Promise<void> {
    // The process before it is dead; its end may not have been read yet.
    if (connection.isTaken) connection.close();
    const own = mediaChildSettings(this.#settings, connection.process);
    if (await this.attach(connection, link, own)) this.#brought[connection.process]?.resolve();
  }
}

/** The gate by which media processes on other machines come, as many at once as `media.processes` says, known by the key that they share with the server. */
export class MediaGate extends MediaLinks {
  readonly #settings: LinkPort;
  #listener: PskListener | null = null;

  constructor(settings: LinkPort, deps: MediaLinksDeps) {
    super(deps);
    this.#settings = settings;
  }

  /** Resolves when one may come; rejects, with a sentence for the operator, when none can. */
  async start(): Promise<void> {
    const { clock, log } = this.deps;
    const refusals = new Throttle(clock);
    const refused = (sentence: string): void => {
      if (refusals.pass()) log.warn({}, `the gate of the media process: ${sentence}`);
    };
    const welcome = (link: Duplex): void => this.#welcome(link);
    const names = { listen: 'media.link_listen', key: 'media.link_key_file' };
    this.#listener = await listenForLinks(this.#settings, names, mediaPsk, clock, welcome, refused);
    const waitsAt = formatListenAddress({ ...this.#settings.address, port: this.#listener.port });
    log.info({ address: waitsAt }, 'waiting for a media process elsewhere');
  }

  protected stopListening(): void {
    this.#listener?.close();
  }

  #welcome(link: Duplex): void {
    const { clock, connections, log } = this.deps;
    const connection = connections.find(({ isTaken }) => !isTaken);
    if (connection !== undefined) return void this.attach(connection, link, null);
    const { length: processes } = connections;
    log.warn({ processes }, 'one more media process came and was sent away: media.processes are linked');
    declineMedia(
      link,
      clock,
      `as many media processes as its media.processes allows are linked: ${processes}`,
    );
  }
}
