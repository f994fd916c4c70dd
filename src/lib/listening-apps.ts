/**
 * The library's apps of one listener, and the port they listen on: one where TLS is off, else one for every
 * certificate there has been. An app cannot change its certificate: a reload makes another on the same port, and the
 * connections of the one before live on in it.
 */
import { createServer } from 'node:net';
import { readCertificate, type Certificate, type TlsFiles } from './tls-files.ts';
import { closeListenSocket, createApp, listenAtOnce, type ListenSocket, type TemplatedApp } from './uws.ts';

export interface ListeningSettings {
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  /** Other processes of this server listen there, too. */
  readonly sharesPort?: boolean;
  /** Null: no TLS. */
  readonly tls: TlsFiles | null;
}

export class ListeningApps {
  readonly #settings: ListeningSettings;
  readonly #furnish: (app: TemplatedApp) => void;
  readonly #replaced: TemplatedApp[] = [];
  #app: TemplatedApp;
  #certificate: Certificate | null;
  #listening: ListenSocket | null = null;

  /** `furnish` puts the handlers into each app. Throws when TLS is asked for and its files are not in order. */
  constructor(settings: ListeningSettings, furnish: (app: TemplatedApp) => void) {
    this.#settings = settings;
    this.#furnish = furnish;
    this.#certificate = readCertificate(settings.tls);
    this.#app = this.#createApp();
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
    // The library, which reads them again, would only say that it cannot.
    const certificate = readCertificate(this.#settings.tls);
    if (certificate === null || this.#isInForce(certificate)) return;
    const next = this.#createApp();
    if (this.#listening !== null) this.#moveListening(this.#listening, next);
    this.#certificate = certificate;
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

  #createApp(): TemplatedApp {
    const app = createApp(this.#settings.tls);
    this.#furnish(app);
    return app;
  }

  #isInForce({ cert, key }: Certificate): boolean {
    return cert === this.#certificate?.cert && key === this.#certificate.key;
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

/** Somebody else may take it before it is used. Rejects when `host` is not an address of this machine. */
export function findFreePort(host: string): Promise<number> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port: 0, exclusive: true }, () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}
