/**
 * The sockets that the sleep port's connections come from: this process's own, or those that it shares with the edges of the
 * same server. Source: scale-out.md, Edges.
 */
import { createServer, type ListenOptions, type Server, type Socket } from 'node:net';
import { assert } from '../lib/assert.ts';
import { acceptBacklog, freePort, hasReusePort, readAcceptQueueMax } from '../lib/accept-queue.ts';
import { sleepListenSocketsMax } from '../model/sleep.ts';
import type { Log } from '../lib/log.ts';
import type { ListenAddress } from '../lib/connections/listen-address.ts';

/**
 * `own`: this process listens at the address, and no other. `shared`: the edges of one server do, each as a child of
 * `node:cluster`.
 */
export type SleepPort = 'own' | 'shared';

/**
 * Sockets that a process accepts from, where the system spreads connections over them. Past its queue a socket's connections are lost
 * without a word: under SYN cookies the kernel has answered who comes, knows nothing of him any more, and he waits for a session key.
 * Node accepts one connection of each socket in each turn of its loop, so that more of them also empty faster.
 * `acceptQueueMax`: of one socket; null: not known.
 */
export function listenSockets(acceptQueueMax = readAcceptQueueMax()): number {
  if (acceptQueueMax === null) return 1;
  return Math.min(sleepListenSocketsMax, Math.max(1, Math.ceil(acceptBacklog / acceptQueueMax)));
}

export class SleepSockets {
  /** Another process that shares the port has room. */
  othersHaveRoom = false;
  readonly #log: Log;
  readonly #accept: (connection: Socket) => void;
  #own: readonly Server[] = [];
  /** Null: the sockets are not shared. */
  #sharedAt: ListenOptions | null = null;
  /** Servers that resume, and have no socket yet. */
  readonly #starting = new Set<Server>();
  #isClosed = false;

  constructor(log: Log, accept: (connection: Socket) => void) {
    this.#log = log;
    this.#accept = accept;
  }

  /** Resolves to the real address when connections are accepted there; rejects when it cannot be had. */
  open(port: SleepPort, at: ListenAddress): Promise<ListenAddress> {
    return port === 'own' ? this.listen(at) : this.listenShared(at);
  }

  /** The same at a port that only this process listens on. */
  async listen({ host, port }: ListenAddress): Promise<ListenAddress> {
    const at = { host, port, backlog: acceptBacklog };
    const count = spreadsOverSockets() ? listenSockets() : 1;
    if (count === 1) return this.#start((own) => own.listen(at));
    // Another server that shares its port with sockets of this user has to be noticed.
    const shared = { ...at, port: await freePort(at), reusePort: true };
    return this.#listenAt(shared, count);
  }

  /**
   * The same at a port that other processes of the server listen on. Where the system spreads connections over sockets, these are
   * this process's own; else all processes accept from one, which is the parent's. `port`: not 0.
   */
  async listenShared({ host, port }: ListenAddress): Promise<ListenAddress> {
    const reusePort = spreadsOverSockets();
    const at = { host, port, backlog: acceptBacklog, reusePort };
    this.#sharedAt = at;
    return this.#listenAt(at, reusePort ? listenSockets() : 1);
  }

  /**
   * At a shared port: without room here, connections are left to the other processes as long as these have room. Where none has any,
   * all accept, since a login may replace the session of its device.
   */
  balance(hasRoom: () => boolean): void {
    if (this.#sharedAt === null || this.#isClosed) return;
    if (this.othersHaveRoom && !hasRoom()) this.#rest();
    else this.#resume(this.#sharedAt);
  }

  #rest(): void {
    for (const own of this.#own) if (own.listening) own.close();
  }

  #resume(at: ListenOptions): void {
    for (const own of this.#own)
      if (!own.listening && !this.#starting.has(own)) {
        this.#starting.add(own);
        own.listen(at);
      }
  }

  async #listenAt(at: ListenOptions, count: number): Promise<ListenAddress> {
    const [address] = await Promise.all(
      Array.from({ length: count }, () => this.#start((own) => own.listen(at))),
    );
    assert(address !== undefined, 'a listener has a socket');
    return address;
  }

  #start(listen: (own: Server) => void): Promise<ListenAddress> {
    const own = createServer(socketOptions, this.#accept);
    this.#own = [...this.#own, own];
    own.on('listening', () => this.#started(own));
    return new Promise((resolve, reject) => {
      own.once('error', reject);
      own.once('listening', () => {
        own.off('error', reject);
        own.on('error', (error) => {
          this.#starting.delete(own);
          this.#failed(error);
        });
        resolve(addressOf(own));
      });
      listen(own);
    });
  }

  #started(own: Server): void {
    this.#starting.delete(own);
    // The parent may have sent its socket behind the order to close.
    if (this.#isClosed) own.close();
  }

  /** Accepts no more. Resolves when all that were accepted are closed too. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#own.map((own) => new Promise<void>((resolve) => own.close(() => resolve()))));
  }

  #failed(error: Error): void {
    this.#log.error({ error: error.message }, 'the sleep listener failed');
  }
}

/** Half open: when a peer hangs up its socket is closed by whoever owns it, and not by Node, which would do so for all of a city at once. */
const socketOptions = { noDelay: true, keepAlive: false, allowHalfOpen: true };

/** On Linux the kernel spreads connections over the sockets of a port. */
function spreadsOverSockets(): boolean {
  return process.platform === 'linux' && hasReusePort();
}

function addressOf(server: Server): ListenAddress {
  const address = server.address();
  assert(address !== null && typeof address === 'object', 'a listener has an address while it listens');
  return { host: address.address, port: address.port };
}
