/**
 * Prism as a proxy that validates by docs/openapi.yaml, before whichever server a request is for: it has one way on, a
 * relay whose end changes. Prism says what it found in a header of the answer.
 */
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import type { ApiAnswer } from '../support/api-client.ts';
import { findFreePort } from '../support/free-port.ts';
import type { Ending } from '../support/temporary-store.ts';
import { apiDocument, startTool } from './contract-tools.ts';

const host = '127.0.0.1';
const violationsHeader = 'sl-violations';

/** What is not as the document says, of the request or of the answer to it. */
interface Violation {
  readonly location: readonly string[];
  readonly message: string;
}

export class ValidatingProxy {
  readonly port: number;
  readonly #relay: Relay;

  private constructor(port: number, relay: Relay) {
    this.port = port;
    this.#relay = relay;
  }

  /** Resolves when it takes requests. */
  static async start(t: Ending): Promise<ValidatingProxy> {
    const relay = await openRelay(t);
    const port = await findFreePort(host);
    const upstream = `http://${host}:${relay.port}`;
    const prism = startTool('prism', [
      'proxy',
      apiDocument,
      upstream,
      '-h',
      host,
      '-p',
      `${port}`,
      '--no-cors',
    ]);
    t.after(() => void prism.kill('SIGKILL'));
    if (prism.stdout === null) throw new Error('Prism has no output');
    for await (const line of createInterface({ input: prism.stdout }))
      if (line.includes('Prism is listening')) {
        prism.stdout.resume();
        return new ValidatingProxy(port, relay);
      }
    throw new Error('Prism ended before it listened');
  }

  /** The port to ask in place of `port`, for the next request. */
  before(port: number): number {
    this.#relay.to = port;
    return this.port;
  }
}

/** What Prism found, and the answer as it was before. */
export function takeViolations(answer: ApiAnswer): { violations: readonly Violation[]; answer: ApiAnswer } {
  const { [violationsHeader]: found = '[]', ...headers } = answer.headers;
  return { violations: JSON.parse(String(found)) as Violation[], answer: { ...answer, headers } };
}

interface Relay {
  readonly port: number;
  /** The port that requests go on to. */
  to: number;
}

/** Of requests, not connections: Prism keeps its own. */
async function openRelay(t: Ending): Promise<Relay> {
  const server = createServer((incoming, outgoing) => {
    const { method, url: path, headers } = incoming;
    const options = { host, port: relay.to, method, path, headers, agent: false };
    const forwarded = request(options, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 0, answer.rawHeaders);
      answer.pipe(outgoing);
    });
    forwarded.on('error', () => outgoing.destroy());
    incoming.pipe(forwarded);
  });
  server.listen({ host, port: 0 });
  await once(server, 'listening');
  const relay: Relay = { port: (server.address() as AddressInfo).port, to: 0 };
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return relay;
}
