/** A page with one picture that is replaced by the next, and the multipart answer it is fed by, as our media listener writes it for people. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { partsForPeople } from '../../src/media/legs/picture-parts.ts';
import type { Ending } from './temporary-store.ts';

const parts = partsForPeople();
const page = '<!doctype html><title>pictures</title><img src="/pictures">';

export class PictureServer {
  readonly origin: string;
  readonly #streams: Promise<ServerResponse>;

  private constructor(origin: string, streams: Promise<ServerResponse>) {
    this.origin = origin;
    this.#streams = streams;
  }

  /** On a free port of this machine; closed when the test ends. */
  static async listen(t: Ending): Promise<PictureServer> {
    const { promise, resolve } = newPromise<ServerResponse>();
    const server = createServer((request, response) => {
      if (request.url !== '/pictures') response.setHeader('Content-Type', 'text/html').end(page);
      else {
        response.writeHead(200, {
          'Content-Type': parts.contentType,
          'Cache-Control': 'no-store',
        });
        response.write(parts.begin);
        resolve(response);
      }
    });
    t.after(() => {
      server.close();
      server.closeAllConnections();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new PictureServer(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, promise);
  }

  /** To whoever asked for the pictures, which may still be about to happen. */
  async show(jpeg: Uint8Array): Promise<void> {
    const stream = await this.#streams;
    for (const part of parts.part(jpeg)) stream.write(part);
  }

  async end(): Promise<void> {
    (await this.#streams).end(parts.end);
  }
}

function newPromise<Value>(): { promise: Promise<Value>; resolve: (value: Value) => void } {
  let resolve: (value: Value) => void = () => undefined;
  const promise = new Promise<Value>((done) => (resolve = done));
  return { promise, resolve };
}
