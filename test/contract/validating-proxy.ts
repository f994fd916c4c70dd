/**
 * Prism as a proxy that validates against docs/openapi.yaml, in front of any server: Prism has one upstream, a relay whose target
 * changes. Prism reports its findings in a header of the answer.
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

/** A deviation from the document, of a request or its answer. */
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

  /** Resolves when it accepts requests. */
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

  /** Directs the next request to `port`, and returns the port to send it to. */
  before(port: number): number {
    this.#relay.to = port;
    return this.port;
  }
}

/** Prism's findings, and the answer without them. */
export function splitViolations(answer: ApiAnswer): { violations: readonly Violation[]; answer: ApiAnswer } {
  const { [violationsHeader]: found = '[]', ...headers } = answer.headers;
  return { violations: JSON.parse(String(found)) as Violation[], answer: { ...answer, headers } };
}

interface Relay {
  readonly port: number;
  /** The port that receives forwarded requests. */
  to: number;
}

/** Forwards requests rather than connections, which Prism reuses. */
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
