/**
 * The gate by which media processes on other machines come to the server, as many at once as `media.processes` says. Source:
 * calls-and-media.md, The media process.
 */
import type { Duplex } from 'node:stream';
import { settlesWithin, type Clock } from '../../lib/clock.ts';
import { mediaStopMsMax } from '../../model/limits.ts';
import { formatListenAddress, type ListenAddress } from '../../lib/connections/listen-address.ts';
import { declineMedia, mediaPsk } from '../../media/link/media-language.ts';
import { readLinkKey } from '../../lib/link/link-key.ts';
import { listenPsk, type PskListener } from '../../lib/link/psk-transport.ts';
import type { Log } from '../../lib/log.ts';
import { Throttle } from '../../lib/throttle.ts';
import type { MediaConnection } from '../bootstrap/media-connection.ts';

export interface MediaGateSettings {
  readonly address: ListenAddress;
  readonly keyFile: string;
}

export interface MediaGateDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** One for each that may come. */
  readonly connections: readonly MediaConnection[];
}

/** They are authenticated by the key that they share with the server; each may come late, go, and come again. */
export class MediaGate {
  readonly #settings: MediaGateSettings;
  readonly #deps: MediaGateDeps;
  #listener: PskListener | null = null;
  #isShut = false;

  constructor(settings: MediaGateSettings, deps: MediaGateDeps) {
    this.#settings = settings;
    this.#deps = deps;
  }

  /** Resolves when one may come; rejects, with a sentence for the operator, when none can. */
  async start(): Promise<void> {
    const { address, keyFile } = this.#settings;
    const key = await readLinkKey(keyFile, 'media.link_key_file');
    const { clock, log } = this.#deps;
    const welcome = (link: Duplex): void => void this.#welcome(link);
    const refusals = new Throttle(clock);
    const refused = (sentence: string): void => {
      if (refusals.pass()) log.warn({}, `the gate of the media process: ${sentence}`);
    };
    try {
      this.#listener = await listenPsk({ ...address, key }, mediaPsk, clock, welcome, refused);
    } catch (cause) {
      const where = formatListenAddress(address);
      throw new Error(`cannot listen on ${where}: in use, or not an address of this machine`, { cause });
    }
    const waitsAt = formatListenAddress({ ...address, port: this.#listener.port });
    log.info({ address: waitsAt }, 'waiting for a media process elsewhere');
  }

  async stop(): Promise<void> {
    this.#shut();
    const { clock, connections } = this.#deps;
    const drained = Promise.all(connections.map((connection) => connection.drain()));
    await settlesWithin(clock, mediaStopMsMax, drained);
  }

  close(): void {
    this.#shut();
    for (const connection of this.#deps.connections) connection.close();
  }

  #shut(): void {
    this.#isShut = true;
    this.#listener?.close();
  }

  /** Never rejects. */
  async #welcome(link: Duplex): Promise<void> {
    const { clock, connections, log } = this.#deps;
    const connection = connections.find(({ isTaken }) => !isTaken);
    if (connection === undefined) {
      const { length } = connections;
      log.warn(
        { processes: length },
        'one more media process came and was sent away: media.processes are linked',
      );
      declineMedia(
        link,
        clock,
        `as many media processes as its media.processes allows are linked: ${length}`,
      );
      return;
    }
    const { process } = connection;
    try {
      const { host, port } = await connection.attach(link, null, (fault) => this.#ended(process, fault));
      log.info(
        { media_process: process, address: formatListenAddress({ host, port }) },
        'a media process elsewhere is up',
      );
    } catch (error) {
      log.error({ media_process: process, err: error }, 'a media process elsewhere came and does not listen');
    }
  }

  #ended(process: number, fault: string | null): void {
    if (!this.#isShut)
      this.#deps.log.warn({ media_process: process, fault }, 'the media process elsewhere is gone');
  }
}
