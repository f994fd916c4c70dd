/**
 * The only use of uWebSockets.js: apps that listen, with or without TLS. Importing this module fails with a
 * `MissingBinaryError` when the library has no binary.
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

/** Parts of the library's request that the server uses. */
export interface HttpRequest {
  getCaseSensitiveMethod(): string;
  getUrl(): string;
  getQuery(): string | undefined;
  /** In order of arrival, names in lower case. */
  forEach(each: (name: string, value: string) => void): void;
}

export interface HttpResponse {
  getRemoteAddressAsText(): ArrayBuffer;
  onAborted(listener: () => void): void;
  /** `chunk` is valid only during the call. */
  onData(listener: (chunk: ArrayBuffer, isLast: boolean) => void): void;
  cork(write: () => void): void;
  writeStatus(status: string): void;
  writeHeader(name: string, value: string): void;
  end(body: string | Uint8Array, closeConnection: boolean): void;
  tryEnd(body: string, totalBytes: number): void;
  close(): void;
}

export type HttpHandler = (response: HttpResponse, request: HttpRequest) => void;

const uws = loadUws();
// Omits the header that names the library. The types lack this switch.
(uws as unknown as { _cfg?(name: string): void })._cfg?.('silent');

/** Throws when the certificate's files are unusable. */
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

/** The library rejects files with a byte order mark: it reads temporary copies without one, deleted right afterwards. */
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

/** The binding accepts (host, port, options, callback); its types lack this form and the constant. */
interface ListenWithOptions {
  listen(host: string, port: number, options: number, done: (socket: us_listen_socket | false) => void): void;
}
const exclusivePort = (uws as unknown as { LIBUS_LISTEN_EXCLUSIVE_PORT: number }).LIBUS_LISTEN_EXCLUSIVE_PORT;
/** The library's default: every process of the same user may listen, and the kernel spreads connections. */
const sharedPort = 0;

interface ListenSocket {
  readonly socket: us_listen_socket;
  /** The bound port, also when 0 was requested. */
  readonly port: number;
}

/**
 * Listens on `host:port` before it returns: a reload closes the other listen socket of the port in the same turn. Throws when
 * the address cannot be bound. A port that a reload binds again must not have been requested as 0: the library marks only an
 * explicit port as reusable while connections to it are open. `isShared`: other processes of this server may bind the port too.
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
  /** 0: any free port. */
  readonly port: number;
  /** True: other processes of this server may listen there too. */
  readonly sharesPort: boolean;
  readonly tls: TlsFiles | null;
}

/**
 * The apps of one listener and their port: one without TLS, else one per certificate. An app cannot change its certificate, so a
 * reload creates another app on the same port; connections of the earlier ones continue.
 */
export class ListeningApps {
  readonly #settings: ListeningSettings;
  readonly #furnish: (app: TemplatedApp) => void;
  readonly #replaced: TemplatedApp[] = [];
  #app: TemplatedApp;
  #certificate: Certificate | null;
  #listening: ListenSocket | null = null;

  /** `furnish` adds the handlers to each app. Throws when TLS is configured and its files are unusable. */
  constructor(settings: ListeningSettings, furnish: (app: TemplatedApp) => void) {
    this.#settings = settings;
    this.#furnish = furnish;
    this.#certificate = readCertificate(settings.tls);
    this.#app = this.#createApp();
  }

  /** The bound port; 0: not listening. */
  get port(): number {
    return this.#listening?.port ?? 0;
  }

  /** Rejects when the address is invalid or in use. */
  async listen(): Promise<void> {
    const { host, port, sharesPort, tls } = this.#settings;
    // A reload binds its port again, which requires an explicit port.
    const wanted = port === 0 && tls !== null ? await freePort({ host, port, exclusive: true }) : port;
    this.#listening = listenAtOnce(this.#app, host, wanted, sharesPort);
  }

  /**
   * Reloads the certificate from its files. Throws, and changes nothing, when they are unusable. A replaced certificate uses
   * memory until the process ends, so unchanged files are skipped.
   */
  reloadTls(): void {
    // Read here for a precise error: the library would only report a failure.
    const certificate = readCertificate(this.#settings.tls);
    if (certificate === null || this.#isInForce(certificate)) return;
    const next = this.#createApp();
    if (this.#listening !== null) this.#moveListening(this.#listening, next);
    this.#certificate = certificate;
    this.#replaced.push(this.#app);
    this.#app = next;
  }

  stopListening(): void {
    if (this.#listening !== null) uws.us_listen_socket_close(this.#listening.socket);
    this.#listening = null;
  }

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

  /** Runs in one turn, so that the port is unbound only briefly. */
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
