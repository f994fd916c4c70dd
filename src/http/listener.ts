/** The API's front end: a uWebSockets.js app whose every request goes through the pipeline. */
import type { HttpConnections } from '../base/http-connections.ts';
import {
  closeListenSocket,
  createApp,
  listenExclusively,
  listenShared,
  type ListenSocket,
} from '../base/uws.ts';
import type { Pipeline } from './pipeline.ts';

export class ApiListener {
  readonly #app;
  #listening: ListenSocket | null = null;

  constructor(pipeline: Pipeline, connections: HttpConnections) {
    this.#app = connections
      .watch(createApp())
      .any('/*', (response, request) => pipeline.handle(response, request));
  }

  /**
   * Resolves to the real port. Rejects when the address cannot be had, or is another server's. `isShared`: other processes of this
   * server listen there, too.
   */
  async listen(host: string, port: number, isShared = false): Promise<number> {
    const listen = isShared ? listenShared : listenExclusively;
    this.#listening = await listen(this.#app, host, port);
    return this.#listening.port;
  }

  /** Takes no more connections; those there go on. */
  stopListening(): void {
    if (this.#listening !== null) closeListenSocket(this.#listening.socket);
    this.#listening = null;
  }

  /** Ends every connection, answered or not. */
  close(): void {
    this.#app.close();
    this.#listening = null;
  }
}
