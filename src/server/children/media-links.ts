/**
 * Media processes that connect to the server: those of its site, each over its own socket, and those of other machines, at one port.
 * Each may connect late, disconnect and reconnect. Source: calls-and-media.md, The media process; scale-out.md, Edges.
 */
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import type { Server } from 'node:net';
import type { Duplex } from 'node:stream';
import { completesWithin } from '../../lib/clock.ts';
import { formatListenAddress } from '../../lib/connections/listen-address.ts';
import { listenForLinks, type LinkPort } from '../../lib/link/link-key.ts';
import { listenLocally } from '../../lib/link/local-socket.ts';
import type { PskListener } from '../../lib/link/psk-transport.ts';
import { deferred, type Deferred } from '../../lib/deferred.ts';
import { Throttle } from '../../lib/throttle.ts';
import { declineMedia, mediaPsk } from '../../media/link/media-language.ts';
import { mediaStopMsMax } from '../../model/limits.ts';
import type { MediaProcessSettings } from '../../protocol/media-link/media-values.ts';
import type { MediaConnection } from '../bootstrap/media-connection.ts';
import { mediaChildSettings } from '../config/derived-settings.ts';
import type { Settings } from '../config/settings-schema.ts';
import { edgesBackMsMax, edgesBringMsMax } from '../site/site-limits.ts';

export interface MediaLinksDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  /** One for each expected media process. */
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

  /** Ends the links. Media processes of a site keep their legs, and connect to the next core. */
  close(): void {
    this.#shut();
    for (const connection of this.deps.connections) connection.close();
  }

  /** Stops accepting links. */
  protected abstract stopListening(): void;

  /** `settings`: as for `MediaConnection.attach`. Resolves with true once it listens, false if it cannot. Never rejects. */
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
        if (!this.#isShut) log.warn({ media_process: process, fault }, 'media process: link ended');
      });
      log.info({ media_process: process, address: formatListenAddress(address) }, 'media process: linked');
      return true;
    } catch (error) {
      log.error({ media_process: process, err: error }, 'media process: connected but does not listen');
      return false;
    }
  }

  #shut(): void {
    this.#isShut = true;
    this.stopListening();
  }
}

/** The part of a core's site that concerns media processes. */
export interface MediaSite {
  /** Indexed by process number. */
  readonly mediaSockets: readonly string[];
  /** False: media processes hold legs of a previous core. */
  readonly isFirst: boolean;
}

/** Media processes started by the supervisor of a site. Each reconnects to a new core, and keeps its legs. */
export class SiteMedia extends MediaLinks {
  readonly #settings: Settings;
  readonly #site: MediaSite;
  readonly #servers: Server[] = [];
  /** Resolved, by process number, when the process has sent its legs and listens. */
  readonly #brought: readonly Deferred<void>[];
  readonly #allBrought: Promise<unknown>;

  constructor(settings: Settings, site: MediaSite, deps: MediaLinksDeps) {
    super(deps);
    this.#settings = settings;
    this.#site = site;
    this.#brought = deps.connections.map(() => deferred());
    this.#allBrought = Promise.all(this.#brought.map(({ promise }) => promise));
  }

  /** Resolves when all have sent their legs, or after the maximum wait. */
  async whenBrought(): Promise<void> {
    if (!this.#site.isFirst) await completesWithin(this.deps.clock, edgesBringMsMax, this.#allBrought);
  }

  /** A later core does not wait for its media processes. */
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
    // The previous process is dead, but its end may not have been read yet.
    if (connection.isTaken) connection.close();
    const own = mediaChildSettings(this.#settings, connection.process);
    if (await this.attach(connection, link, own)) this.#brought[connection.process]?.resolve();
  }
}

/** The port for media processes on other machines: at most `media.processes`, authenticated by a pre-shared key. */
export class MediaGate extends MediaLinks {
  readonly #settings: LinkPort;
  #listener: PskListener | null = null;

  constructor(settings: LinkPort, deps: MediaLinksDeps) {
    super(deps);
    this.#settings = settings;
  }

  /** Resolves when it listens; rejects with a sentence for the operator when it cannot. */
  async start(): Promise<void> {
    const { clock, log } = this.deps;
    const refusals = new Throttle(clock);
    const refused = (sentence: string): void => {
      if (refusals.pass()) log.warn({}, `media port: ${sentence}`);
    };
    const welcome = (link: Duplex): void => this.#welcome(link);
    const names = { listen: 'media.link_listen', key: 'media.link_key_file' };
    this.#listener = await listenForLinks(this.#settings, names, mediaPsk, clock, welcome, refused);
    const waitsAt = formatListenAddress({ ...this.#settings.address, port: this.#listener.port });
    log.info({ address: waitsAt }, 'media port: listening for media processes elsewhere');
  }

  protected stopListening(): void {
    this.#listener?.close();
  }

  #welcome(link: Duplex): void {
    const { clock, connections, log } = this.deps;
    const connection = connections.find(({ isTaken }) => !isTaken);
    if (connection !== undefined) return void this.attach(connection, link, null);
    const { length: processes } = connections;
    log.warn({ processes }, 'media process: declined: media.processes are already linked');
    declineMedia(
      link,
      clock,
      `as many media processes as its media.processes allows are linked: ${processes}`,
    );
  }
}
