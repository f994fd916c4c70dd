/** The backend of the soak: follows the event log, and receives webhooks at a working endpoint and a failing one. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ReveilleClient } from '../../../src/client/reveille-client.ts';
import { Latencies, type ErrorCounts } from './latencies.ts';
import type { SoakHooks } from './plan.ts';

const moods = ['refuses', 'is silent', 'works'] as const;
const moodMs = 20_000;
const silenceMs = 3000;

export class Receivers {
  readonly deliveries = new Latencies();
  readonly #good: Server;
  readonly #failing: Server;

  private constructor() {
    this.#good = createServer((request, response) => this.#receive(request, response));
    this.#failing = createServer(fail);
  }

  static async open(): Promise<Receivers> {
    const receivers = new Receivers();
    await Promise.all([listen(receivers.#good), listen(receivers.#failing)]);
    return receivers;
  }

  get hooks(): SoakHooks {
    return { good: urlOf(this.#good), failing: urlOf(this.#failing) };
  }

  close(): void {
    for (const server of [this.#good, this.#failing]) {
      server.close();
      server.closeAllConnections();
    }
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { at } = JSON.parse(Buffer.concat(chunks).toString()) as { at: string };
      this.deliveries.add(ageMs(at));
      response.writeHead(200, { 'content-length': 0 }).end();
    });
  }
}

export async function readEvents(
  client: ReveilleClient,
  events: Latencies,
  errors: ErrorCounts,
): Promise<void> {
  const onTrouble = (error: Error): void => errors.add('reader', error.name);
  for await (const { event, truncated } of client.followEvents({ after: 'latest', limit: 500, onTrouble })) {
    events.add(ageMs(event.at));
    if (truncated) errors.add('reader', 'events were lost');
  }
}

function fail(request: IncomingMessage, response: ServerResponse): void {
  request.resume();
  request.on('end', () => {
    const mood = moods[Math.floor(Date.now() / moodMs) % moods.length];
    if (mood === 'is silent') setTimeout(() => request.socket.destroy(), silenceMs).unref();
    else response.writeHead(mood === 'works' ? 200 : 503, { 'content-length': 0 }).end();
  });
}

/** Server and soak share a clock. */
function ageMs(at: string): number {
  return Date.now() - Date.parse(at);
}

function listen(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
}

function urlOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
}
