/** The API's front end: uWebSockets.js, every request of which goes through the pipeline. */
import type { HttpConnections } from '../../lib/http-connections.ts';
import { ListeningApps, type ListeningSettings } from '../../lib/listening-apps.ts';
import type { Pipeline } from './pipeline.ts';

export class ApiListener {
  readonly #apps: ListeningApps;

  /** Throws when TLS is asked for and its files are not in order. */
  constructor(settings: ListeningSettings, pipeline: Pipeline, connections: HttpConnections) {
    this.#apps = new ListeningApps(settings, (app) => {
      connections.watch(app).any('/*', pipeline.handle);
    });
  }

  /** Resolves to the real port. Rejects when the address cannot be had, or is another server's. */
  async listen(): Promise<number> {
    await this.#apps.listen();
    return this.#apps.port;
  }

  /** Takes the certificate from its files anew, for connections to come. Throws, and changes nothing, when they are not in order. */
  reloadTls(): void {
    this.#apps.reloadTls();
  }

  /** Takes no more connections; those there go on. */
  stopListening(): void {
    this.#apps.stopListening();
  }

  /** Ends every connection, answered or not. */
  close(): void {
    this.#apps.close();
  }
}
