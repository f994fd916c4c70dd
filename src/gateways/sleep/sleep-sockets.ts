/**
 * The sockets that the sleep port's connections come from: one of this process's own, or, where several processes have one port,
 * those that the supervisor lends it, each for so many connections. Source: cluster.md, Several processes on one machine.
 */
import { createServer, type Server, type Socket } from 'node:net';
import { assert } from '../../lib/assert.ts';
import type { BoundSocket } from '../../lib/bound-sockets.ts';
import { handleOf, type SocketHandle } from '../../lib/bound-sockets.ts';
import { sleepAcceptBacklog } from '../../model/limits.ts';
import type { Log } from '../../core/ports/log.ts';
import type { ListenAddress } from '../../model/settings-values.ts';

/** A socket that another process has bound, for so many connections. */
export interface SleepLoan {
  /** Among those of the port. */
  readonly number: number;
  readonly socket: BoundSocket;
  readonly connections: number;
}

export interface SleepCounts {
  readonly open: number;
  /** Ever. */
  readonly taken: number;
}

export class SleepSockets {
  readonly #log: Log;
  readonly #accept: (connection: Socket) => void;
  /** By number. */
  readonly #lent = new Map<number, LentSocket>();
  #own: Server | null = null;
  #taken = 0;
  #hasGivenUp = false;

  constructor(log: Log, accept: (connection: Socket) => void) {
    this.#log = log;
    this.#accept = (connection) => {
      this.#taken += 1;
      accept(connection);
    };
  }

  /** Connections ever. */
  get taken(): number {
    return this.#taken;
  }

  /**
   * Resolves to the real address when connections are accepted there; rejects when it cannot be had. `inherited`: the
   * socket that another process listens on at the address, with whoever waits in it.
   */
  listen({ host, port }: ListenAddress, inherited: SocketHandle | null): Promise<ListenAddress> {
    const server = createServer(socketOptions, this.#accept);
    this.#own = server;
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      const listening = (): void => {
        server.off('error', reject);
        server.on('error', (error) => this.#failed(error));
        resolve(addressOf(server));
      };
      if (inherited === null) server.listen({ host, port, backlog: sleepAcceptBacklog }, listening);
      else server.listen(inherited, sleepAcceptBacklog, listening);
    });
  }

  /** The socket it listens on; null: it does not, or it is lent. */
  get ownHandle(): SocketHandle | null {
    return this.#own === null ? null : handleOf(this.#own);
  }

  /** Accepts so many, then closes the socket here and calls `back` with how many it did not take. */
  borrow({ number, socket, connections }: SleepLoan, back: (unused: number) => void): void {
    if (this.#hasGivenUp) {
      socket.close();
      return back(connections);
    }
    let lent = this.#lent.get(number);
    if (lent === undefined) {
      lent = new LentSocket(this.#accept, (error) => this.#failed(error));
      this.#lent.set(number, lent);
    }
    lent.take(socket, connections, back);
  }

  /** All that are lent, however many they would still give. */
  giveBack(): void {
    for (const lent of this.#lent.values()) lent.giveBack();
  }

  /** Those that are lent go back, and one that is still on its way does at once. */
  giveUp(): void {
    this.#hasGivenUp = true;
    this.giveBack();
  }

  /** Accepts no more. Resolves when all that were accepted are closed too. */
  async close(): Promise<void> {
    this.giveUp();
    const own = this.#own;
    if (own !== null) await new Promise<void>((resolve) => own.close(() => resolve()));
  }

  #failed(error: Error): void {
    this.#log.error({ error: error.message }, 'the sleep listener failed');
  }
}

const socketOptions = { noDelay: true, keepAlive: false };

/** One of the supervisor's, which is lent again and again: its connections keep one server, and no more, alive. */
class LentSocket {
  readonly #server: Server;
  #left = 0;
  #back: (unused: number) => void = () => undefined;

  constructor(accept: (connection: Socket) => void, failed: (error: Error) => void) {
    this.#server = createServer(socketOptions, (connection) => {
      this.#left -= 1;
      accept(connection);
      if (this.#left === 0) this.giveBack();
    });
    this.#server.on('error', failed);
  }

  take(socket: BoundSocket, connections: number, back: (unused: number) => void): void {
    this.#left = connections;
    this.#back = back;
    this.#server.listen(socket, sleepAcceptBacklog);
  }

  giveBack(): void {
    if (!this.#server.listening) return;
    // It stays open at the supervisor, with whoever waits in it.
    this.#server.close();
    this.#back(this.#left);
  }
}

function addressOf(server: Server): ListenAddress {
  const address = server.address();
  assert(address !== null && typeof address === 'object', 'a listener has an address while it listens');
  return { host: address.address, port: address.port };
}
