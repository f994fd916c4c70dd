/**
 * The one use of uWebSockets.js: apps that listen, with TLS or without. Reading this module rejects with a `MissingBinaryError`
 * where the library has no binary.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TemplatedApp, us_listen_socket } from 'uWebSockets.js';
import { freePort } from './accept-queue.ts';
import { hasByteOrderMark, readTextFile } from './text-file.ts';
import { cannotListen } from './connections/listen-address.ts';
import { type TlsFiles, readCertificate, type Certificate } from './connections/tls-files.ts';
import { loadUws } from './connections/uws-binary.ts';

export type { TemplatedApp };

/** As much of a request as the server reads. */
export interface HttpRequest {
  getCaseSensitiveMethod(): string;
  getUrl(): string;
  getQuery(): string | undefined;
  /** Headers in the order in which they came, names in lower case. */
  forEach(each: (name: string, value: string) => void): void;
}

/** As much of a response as the server uses. */
export interface HttpResponse {
  getRemoteAddressAsText(): ArrayBuffer;
  onAborted(listener: () => void): void;
  /** A chunk is valid during the call only. */
  onData(listener: (chunk: ArrayBuffer, isLast: boolean) => void): void;
  cork(write: () => void): void;
  writeStatus(status: string): void;
  writeHeader(name: string, value: string): void;
  end(body: string | Uint8Array, closeConnection: boolean): void;
  tryEnd(body: string, totalBytes: number): void;
  close(): void;
}

export type HttpHandler = (response: HttpResponse, request: HttpRequest) => void;

const uws = await loadUws();
// No header that names the library in answers. Its types leave this switch out.
(uws as unknown as { _cfg?(name: string): void })._cfg?.('silent');

/** Throws when the certificate's files are not in order. */
function createApp(tls: TlsFiles | null): TemplatedApp {
  if (tls === null) return uws.App();
  const files = [tls.certFile, tls.keyFile] as const;
  return files.some((file) => hasByteOrderMark(readFileSync(file)))
    ? createAppOfCopies(files)
    : createTlsApp(files);
}

function createTlsApp([cert_file_name, key_file_name]: readonly [string, string]): TemplatedApp {
  return uws.SSLApp({ cert_file_name, key_file_name });
}

/** The library reads the files by itself and rejects a byte order mark: it gets copies without one, deleted when it has read them. */
function createAppOfCopies([certFile, keyFile]: readonly [string, string]): TemplatedApp {
  const directory = mkdtempSync(join(tmpdir(), 'reveille-tls-'));
  const copy = (name: string, file: string): string => {
    const path = join(directory, name);
    writeFileSync(path, readTextFile(file), { mode: 0o600 });
    return path;
  };
  try {
    return createTlsApp([copy('cert.pem', certFile), copy('key.pem', keyFile)]);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const localPort = uws.us_socket_local_port;

/** The binding takes (host, port, options, callback); its types leave this form out, and the constant. */
interface ListenWithOptions {
  listen(host: string, port: number, options: number, done: (socket: us_listen_socket | false) => void): void;
}
const exclusivePort = (uws as unknown as { LIBUS_LISTEN_EXCLUSIVE_PORT: number }).LIBUS_LISTEN_EXCLUSIVE_PORT;
/** The library's own way: every process of the same user that asks for it listens, and the kernel spreads connections. */
const sharedPort = 0;

interface ListenSocket {
  readonly socket: us_listen_socket;
  /** The real port, also when 0 was asked for. */
  readonly port: number;
}

/**
 * Listens on `host:port` before it returns: a reload closes another listen socket on the port in the same turn. Throws when
 * the address cannot be had. A port that is to be listened on again must not have been got by asking for port 0: the
 * library marks only a port it was given as one that may be taken while connections to it live on. `isShared`: another process
 * of this server may ask for the port in the same way.
 */
function listenAtOnce(app: TemplatedApp, host: string, port: number, isShared: boolean): ListenSocket {
  let listening: ListenSocket | null = null;
  const options = isShared ? sharedPort : exclusivePort;
  (app as unknown as ListenWithOptions).listen(host, port, options, (socket) => {
    if (socket) listening = { socket, port: localPort(socket) };
  });
  if (listening === null) throw cannotListen({ host, port });
  return listening;
}

interface ListeningSettings {
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  /** True: another process of this server may listen there, too. */
  readonly sharesPort: boolean;
  /** Null: no TLS. */
  readonly tls: TlsFiles | null;
}

/**
 * The apps of one listener, and the port they listen on: one where TLS is off, else one for every certificate there has
 * been. An app cannot change its certificate: a reload makes another on the same port, and the connections of the one
 * before live on in it.
 */
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
    const wanted = port === 0 && tls !== null ? await freePort({ host, port, exclusive: true }) : port;
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
    if (this.#listening !== null) uws.us_listen_socket_close(this.#listening.socket);
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
