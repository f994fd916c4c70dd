/**
 * The port of the API. It can listen before its server is there: requests are held until `serve`. Source: scale-out.md, Edges.
 */
import { quietTurn, type Clock } from '../../lib/clock.ts';
import type { HttpConnections } from '../../lib/connections/http-connections.ts';
import { formatListenAddress, type ListenAddress } from '../../lib/connections/listen-address.ts';
import type { TlsFiles } from '../../lib/connections/tls-files.ts';
import { ListeningApps } from '../../lib/uws.ts';
import type { ApiRequest } from './api-request.ts';
import { IncomingRequests } from './incoming-requests.ts';

export interface ApiPortSettings {
  readonly listen: ListenAddress;
  /** Null: no TLS. */
  readonly tls: TlsFiles | null;
  /** True: the core before this one, or the next one, may listen on it at the same time. */
  readonly sharesPort: boolean;
}

export class ApiPort {
  readonly #clock: Clock;
  readonly #listen: ListenAddress;
  readonly #apps: ListeningApps;
  readonly #requests: IncomingRequests;

  /** Throws when TLS is asked for and its files are not in order. */
  constructor({ listen, tls, sharesPort }: ApiPortSettings, connections: HttpConnections, clock: Clock) {
    this.#clock = clock;
    this.#listen = listen;
    this.#requests = new IncomingRequests(clock);
    this.#apps = new ListeningApps({ ...listen, tls, sharesPort }, (app) => {
      connections.watch(app).any('/*', (response, request) => {
        if (connections.reached(response)) this.#requests.handle(response, request);
      });
    });
  }

  /** Null: it does not listen. */
  get address(): string | null {
    const { port } = this.#apps;
    return port === 0 ? null : formatListenAddress({ host: this.#listen.host, port });
  }

  /** Rejects when the address cannot be had, or is another server's. */
  async listen(): Promise<void> {
    await this.#apps.listen();
  }

  /** Requests are handled from now on, those that were held first. */
  serve(handler: (request: ApiRequest) => void): void {
    this.#requests.serve(handler);
  }

  /** Resolves when no request waits for its answer, also of those that have come and were not read. */
  async idle(): Promise<void> {
    await this.#requests.idle();
    await quietTurn(this.#clock);
    await this.#requests.idle();
  }

  /** Throws, and changes nothing, when the files of the certificate are not in order. */
  reloadTls(): void {
    this.#apps.reloadTls();
  }

  /**
   * Accepts no more connections, and ends none. Those that have come and are not accepted are reset, where the system cannot migrate
   * them to another process that listens on the port.
   */
  async stopListening(): Promise<void> {
    await quietTurn(this.#clock);
    this.#apps.stopListening();
  }

  /** Ends every connection. */
  close(): void {
    this.#apps.close();
  }
}
