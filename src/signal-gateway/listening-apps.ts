/**
 * The library's apps of one listener, and the port they listen on. An app cannot change its certificate: a reload
 * makes another on the same port, and the connections of the one before live on in it. Source: signal-wire.md.
 */
import { findFreePort } from '../base/free-port.ts';
import { closeListenSocket, listenAtOnce, type ListenSocket, type TemplatedApp } from '../base/uws.ts';
import type { SignalGatewaySettings } from './settings.ts';
import { readTlsFiles } from './tls-files.ts';
import { createWebSocketApp, type WebSocketAppHouse } from './web-socket-app.ts';

export type ListeningSettings = Pick<SignalGatewaySettings, 'host' | 'port' | 'sharesPort' | 'tls'>;

export class ListeningApps {
  readonly #settings: ListeningSettings;
  readonly #house: WebSocketAppHouse;
  readonly #replaced: TemplatedApp[] = [];
  #app: TemplatedApp;
  #tlsFiles: string | null;
  #listening: ListenSocket | null = null;

  /** Throws when TLS is asked for and its files are not in order. */
  constructor(settings: ListeningSettings, house: WebSocketAppHouse) {
    this.#settings = settings;
    this.#house = house;
    this.#tlsFiles = readTlsFiles(settings.tls);
    this.#app = createWebSocketApp(settings.tls, house);
  }

  /** The real one; 0 while it does not listen. */
  get port(): number {
    return this.#listening?.port ?? 0;
  }

  /** Rejects when the address cannot be had, or is another server's. */
  async listen(): Promise<void> {
    const { host, port, sharesPort, tls } = this.#settings;
    // Only a reload listens again on its port, and a port got as 0 would not let it.
    const wanted = port === 0 && tls !== null ? await findFreePort(host) : port;
    this.#listening = listenAtOnce(this.#app, host, wanted, sharesPort);
  }

  /**
   * Takes the certificate from its files anew. Throws, and changes nothing, when they are not in order. One that was
   * replaced costs its memory until the process ends, so files that have not changed are left alone.
   */
  reloadTls(): void {
    const files = readTlsFiles(this.#settings.tls);
    if (files === this.#tlsFiles) return;
    const next = createWebSocketApp(this.#settings.tls, this.#house);
    if (this.#listening !== null) this.#moveListening(this.#listening, next);
    this.#tlsFiles = files;
    this.#replaced.push(this.#app);
    this.#app = next;
  }

  /** Takes no more connections; those there go on. */
  stopListening(): void {
    if (this.#listening !== null) closeListenSocket(this.#listening.socket);
    this.#listening = null;
  }

  /** Ends every connection. */
  close(): void {
    this.stopListening();
    for (const app of [...this.#replaced, this.#app]) app.close();
  }

  /** All in one turn: the port is nobody's for no longer than it takes. */
  #moveListening(from: ListenSocket, to: TemplatedApp): void {
    const { host, sharesPort } = this.#settings;
    this.stopListening();
    try {
      this.#listening = listenAtOnce(to, host, from.port, sharesPort);
    } catch (error) {
      this.#listening = listenAtOnce(this.#app, host, from.port, sharesPort);
      throw error;
    }
  }
}
