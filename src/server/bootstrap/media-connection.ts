/**
 * The media process as the rest of the server has it: one or none, whoever started it; and the gate by which one on another
 * machine comes. It is asked and told over its link; while there is none, nobody can be let in, and calls wait as long as
 * they live. Source: calls-and-media.md, The media process.
 */
import type { Duplex } from 'node:stream';
import { readFile } from 'node:fs/promises';
import { type Cancel, settlesWithin, type Clock } from '../../lib/clock.ts';
import type { SessionId } from '../../model/ids.ts';
import { mediaStartMsMax, mediaStopMsMax } from '../../model/limits.ts';
import type { MediaCapacity } from '../../model/media-capacity.ts';
import type { MediaView } from '../../model/picture.ts';
import type { MediaAddress, MediaProcessSettings } from '../../protocol/media-link/media-values.ts';
import { ServerEnd, type ServerEndDeps } from '../../media/link/server-end.ts';
import { declineLink } from '../../media/link/link.ts';
import { linkKeyBytesMin, listenPsk, type PskListener } from '../../media/link/psk-transport.ts';
import type { BridgePool } from '../../core/calls/bridge-pool.ts';
import type { Log } from '../../core/ports/log.ts';
import { formatListenAddress, type ListenAddress } from '../../model/settings-values.ts';

export interface MediaConnectionDeps extends Omit<ServerEndDeps, 'settings' | 'onCounts' | 'onEnd'> {
  /** What the media process cannot carry waits there. */
  readonly pool: Pick<BridgePool, 'offerAgain' | 'processGone'>;
}

export class MediaConnection {
  readonly #deps: MediaConnectionDeps;
  #end: ServerEnd | null = null;
  #address: MediaAddress | null = null;
  #lastAddress: MediaAddress | null = null;

  constructor(deps: MediaConnectionDeps) {
    this.#deps = deps;
  }

  /** Null: none is there, or it does not listen yet. */
  get address(): MediaAddress | null {
    return this.#address;
  }

  /** Where the one that is there listens, or the one before it did; null: there was none yet. */
  get lastAddress(): MediaAddress | null {
    return this.#lastAddress;
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
    const { pool, process } = this.#deps;
    const end = new ServerEnd(link, {
      ...this.#deps,
      settings,
      onCounts: () => pool.offerAgain(process),
      onEnd: (fault) => {
        this.#detach(end);
        pool.processGone(process);
        onEnd(fault);
      },
    });
    this.#end = end;
    this.#address = null;
    try {
      const address = await this.#inTime(end.listening);
      if (this.#end !== end) throw new Error('it hung up as soon as it listened');
      this.#address = address;
      this.#lastAddress = address;
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

  /** Empty: no media process, or it has told nothing yet. */
  capacity(): readonly MediaCapacity[] {
    const counts = this.#end?.counts() ?? null;
    if (counts === null || this.#address === null) return [];
    return [{ process: this.#deps.process, address: formatListenAddress(this.#address), ...counts }];
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

export interface MediaGateSettings {
  readonly address: ListenAddress;
  readonly keyFile: string;
}

export interface MediaGateDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly connection: MediaConnection;
}

/**
 * The listener for a media process elsewhere: one at a time, authenticated by the key that it shares with the server. It may
 * come late, go, and come again.
 */
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
    const key = await readLinkKey(keyFile);
    const { clock, log } = this.#deps;
    const welcome = (link: Duplex): void => void this.#welcome(link);
    const refused = (sentence: string): void => log.warn({}, `the gate of the media process: ${sentence}`);
    try {
      this.#listener = await listenPsk({ ...address, key }, clock, welcome, refused);
    } catch (cause) {
      const where = formatListenAddress(address);
      throw new Error(`cannot listen on ${where}: in use, or not an address of this machine`, { cause });
    }
    const waitsAt = formatListenAddress({ ...address, port: this.#listener.port });
    log.info({ address: waitsAt }, 'waiting for a media process elsewhere');
  }

  async stop(): Promise<void> {
    this.#shut();
    const { clock, connection } = this.#deps;
    await settlesWithin(clock, mediaStopMsMax, connection.drain());
  }

  close(): void {
    this.#shut();
    this.#deps.connection.close();
  }

  #shut(): void {
    this.#isShut = true;
    this.#listener?.close();
  }

  /** Never rejects. */
  async #welcome(link: Duplex): Promise<void> {
    const { clock, connection, log } = this.#deps;
    if (connection.isTaken) {
      log.warn({}, "a second media process came and was sent away: a session's legs have to meet in one");
      declineLink(link, clock, 'another media process carries the calls of this server');
      return;
    }
    try {
      const { host, port } = await connection.attach(link, null, (fault) => this.#ended(fault));
      log.info({ address: formatListenAddress({ host, port }) }, 'a media process elsewhere is up');
    } catch (error) {
      log.error({ err: error }, 'a media process elsewhere came and does not listen');
    }
  }

  #ended(fault: string | null): void {
    if (!this.#isShut) this.#deps.log.warn({ fault }, 'the media process elsewhere is gone');
  }
}

/** Rejects, with a sentence for the operator, when there is none. */
export async function readLinkKey(file: string): Promise<Buffer> {
  const key = await readFile(file).catch((cause: unknown) => {
    throw new Error(`media.link_key_file: ${file} cannot be read`, { cause });
  });
  if (key.length < linkKeyBytesMin)
    throw new Error(
      `media.link_key_file: ${file} has ${key.length} bytes; at least ${linkKeyBytesMin}: openssl rand -out ${file} 32`,
    );
  return key;
}
