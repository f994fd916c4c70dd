/** The port of the API. It may listen before the server is ready; requests queue until `serve`. Source: scale-out.md, Edges. */
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
  /** True: the previous or next core may listen on the port at the same time. */
  readonly sharesPort: boolean;
}

export class ApiPort {
  readonly #clock: Clock;
  readonly #listen: ListenAddress;
  readonly #apps: ListeningApps;
  readonly #requests: IncomingRequests;

  /** Throws if TLS is configured and its files are invalid. */
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

  /** Null: not listening. */
  get address(): string | null {
    const { port } = this.#apps;
    return port === 0 ? null : formatListenAddress({ host: this.#listen.host, port });
  }

  /** Rejects if the address is unavailable or another server uses it. */
  async listen(): Promise<void> {
    await this.#apps.listen();
  }

  serve(handler: (request: ApiRequest) => void): void {
    this.#requests.serve(handler);
  }

  /** Resolves when no request waits for its answer, including requests received but not read yet. */
  async idle(): Promise<void> {
    await this.#requests.idle();
    await quietTurn(this.#clock);
    await this.#requests.idle();
  }

  /** Throws, and changes nothing, if the certificate files are invalid. */
  reloadTls(): void {
    this.#apps.reloadTls();
  }

  /**
   * Stops accepting connections; open ones stay. Connections in the accept queue are reset, unless the system can migrate them to
   * another process that listens on the port.
   */
  async stopListening(): Promise<void> {
    await quietTurn(this.#clock);
    this.#apps.stopListening();
  }

  close(): void {
    this.#apps.close();
  }
}
