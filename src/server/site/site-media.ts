/**
 * The media processes of a site, which its supervisor starts: each connects to the core by a socket of its own, and again when a
 * core comes back, with the legs that it has. Source: scale-out.md, Edges; calls-and-media.md, The media process.
 */
import type { Server } from 'node:net';
import type { Duplex } from 'node:stream';
import { settlesWithin, type Clock } from '../../lib/clock.ts';
import { listenLocally } from '../../lib/link/local-socket.ts';
import type { Log } from '../../lib/log.ts';
import { mediaStopMsMax } from '../../model/limits.ts';
import type { MediaConnection } from '../bootstrap/media-connection.ts';
import { mediaChildSettings } from '../config/derived-settings.ts';
import type { Settings } from '../config/settings-schema.ts';
import { edgesBackMsMax, edgesBringMsMax } from './site-limits.ts';

/** The site of a core, for its media processes. */
export interface MediaSite {
  /** By their numbers. */
  readonly mediaSockets: readonly string[];
  /** False: media processes hold legs of the core before this one. */
  readonly isFirst: boolean;
}

export interface SiteMediaDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** One for each. */
  readonly connections: readonly MediaConnection[];
}

export class SiteMedia {
  readonly #settings: Settings;
  readonly #site: MediaSite;
  readonly #deps: SiteMediaDeps;
  readonly #servers: Server[] = [];
  /** Resolve when the process with their number has brought its legs, and listens. */
  readonly #brought: (() => void)[] = [];
  readonly #allBrought: Promise<unknown>;
  #isShut = false;

  constructor(settings: Settings, site: MediaSite, deps: SiteMediaDeps) {
    this.#settings = settings;
    this.#site = site;
    this.#deps = deps;
    const brought = deps.connections.map(() => new Promise<void>((resolve) => this.#brought.push(resolve)));
    this.#allBrought = Promise.all(brought);
  }

  /** Resolves when all have brought the legs of their calls, or need not be waited for any longer. */
  async whenBrought(): Promise<void> {
    if (!this.#site.isFirst) await settlesWithin(this.#deps.clock, edgesBringMsMax, this.#allBrought);
  }

  /** A core that comes back serves without a media process that is late. */
  async start(): Promise<void> {
    const { clock, connections } = this.#deps;
    for (const connection of connections) {
      const path = this.#site.mediaSockets[connection.process] ?? '';
      const welcome = (link: Duplex): void => void this.#welcome(connection, link);
      this.#servers.push(await listenLocally(path, 'media processes', welcome));
    }
    if (this.#site.isFirst) await this.#allBrought;
    else await settlesWithin(clock, edgesBackMsMax, this.#allBrought);
  }

  async stop(): Promise<void> {
    const { clock, connections } = this.#deps;
    this.#shut();
    const drained = Promise.all(connections.map((connection) => connection.drain()));
    await settlesWithin(clock, mediaStopMsMax, drained);
  }

  /** Ends the links: media processes keep their legs, and connect to the next core. */
  close(): void {
    this.#shut();
    for (const connection of this.#deps.connections) connection.close();
  }

  #shut(): void {
    this.#isShut = true;
    for (const server of this.#servers) server.close();
  }

  /** Never rejects. */
  async #welcome(connection: MediaConnection, link: Duplex): Promise<void> {
    if (this.#isShut) {
      link.destroy();
      return;
    }
    const { process } = connection;
    const { log } = this.#deps;
    // The process before it is dead; its end may not have been read yet.
    if (connection.isTaken) connection.close();
    try {
      const own = mediaChildSettings(this.#settings, process);
      const { port } = await connection.attach(link, own, (fault) => this.#ended(process, fault));
      log.info({ media_process: process, port }, 'a media process is linked');
      this.#brought[process]?.();
    } catch (error) {
      log.warn({ media_process: process, err: error }, 'a media process came and does not listen');
    }
  }

  #ended(process: number, fault: string | null): void {
    if (!this.#isShut)
      this.#deps.log.warn({ media_process: process, fault }, 'the link to a media process has ended');
  }
}
