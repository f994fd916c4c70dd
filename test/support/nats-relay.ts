/** A TCP relay between one node and NATS, which a test can cut without affecting other nodes. */
import { once } from 'node:events';
import { createConnection, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { Ending } from './temporary-store.ts';

const host = '127.0.0.1';

export class NatsRelay {
  readonly #listener: Server;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  readonly #port: number;
  #state: 'open' | 'silent' | 'broken' = 'open';

  static async open(t: Ending, natsPort: number): Promise<NatsRelay> {
    const listener = createServer().listen(0, host);
    await once(listener, 'listening');
    const relay = new NatsRelay(listener, natsPort);
    t.after(() => relay.#close());
    return relay;
  }

  private constructor(listener: Server, natsPort: number) {
    this.#listener = listener;
    this.#port = (listener.address() as AddressInfo).port;
    listener.on('connection', (near) => this.#join(near, natsPort));
  }

  get url(): string {
    return `nats://${host}:${this.#port}`;
  }

  /** Cuts connections, and refuses new ones. */
  break(): void {
    this.#state = 'broken';
    this.#cut();
  }

  /** Connections stay open and forward nothing, new ones too. */
  silence(): void {
    this.#state = 'silent';
    for (const sockets of this.#pairs) for (const socket of sockets) socket.pause();
  }

  /** Forwards new connections again; silent ones stay silent. */
  mend(): void {
    this.#state = 'open';
  }

  #join(near: Socket, natsPort: number): void {
    if (this.#state === 'broken') {
      near.destroy();
      return;
    }
    const far = createConnection({ host, port: natsPort });
    const pair = [near, far] as const;
    this.#pairs.add(pair);
    for (const [one, other] of [pair, [far, near] as const]) {
      one.on('data', (bytes) => other.write(bytes));
      one.on('error', () => one.destroy());
      one.on('close', () => {
        this.#pairs.delete(pair);
        other.destroy();
      });
    }
    if (this.#state === 'silent') for (const socket of pair) socket.pause();
  }

  #cut(): void {
    for (const [near] of this.#pairs) near.destroy();
  }

  async #close(): Promise<void> {
    this.#cut();
    this.#listener.close();
    await once(this.#listener, 'close');
  }
}
