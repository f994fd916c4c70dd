/**
 * The listening sockets of the sleep port: this process's own, or sockets shared with the other edges of the server.
 * Source: scale-out.md, Edges.
 */
import { createServer, type ListenOptions, type Server, type Socket } from 'node:net';
import { assert } from '../lib/assert.ts';
import { acceptBacklog, freePort, hasReusePort, readAcceptQueueMax } from '../lib/accept-queue.ts';
import { sleepListenSocketsMax } from '../model/sleep.ts';
import type { Log } from '../lib/log.ts';
import type { ListenAddress } from '../lib/connections/listen-address.ts';

/** `own`: only this process listens at the address. `shared`: all edges of a server do, as children of `node:cluster`. */
export type SleepPort = 'own' | 'shared';

/**
 * Number of listening sockets of a process, where the kernel balances connections over them. When an accept queue overflows under SYN
 * cookies, connections are lost silently: the kernel has completed the handshake and forgotten the client, which waits for a session
 * key. Node accepts one connection of each socket a turn, so that more sockets also drain faster.
 * `acceptQueueMax`: length of the queue of one socket; null: unknown.
 */
export function listenSockets(acceptQueueMax = readAcceptQueueMax()): number {
  if (acceptQueueMax === null) return 1;
  return Math.min(sleepListenSocketsMax, Math.max(1, Math.ceil(acceptBacklog / acceptQueueMax)));
}

export class SleepSockets {
  /** True: another process at the port has room. */
  othersHaveRoom = false;
  readonly #log: Log;
  readonly #accept: (connection: Socket) => void;
  #own: readonly Server[] = [];
  #sharedAt: ListenOptions | null = null;
  /** Servers that are being opened and have no socket yet. */
  readonly #starting = new Set<Server>();
  #isClosed = false;

  constructor(log: Log, accept: (connection: Socket) => void) {
    this.#log = log;
    this.#accept = accept;
  }

  /** Resolves with the bound address when connections are accepted; rejects when it cannot be bound. */
  open(port: SleepPort, at: ListenAddress): Promise<ListenAddress> {
    return port === 'own' ? this.listen(at) : this.listenShared(at);
  }

  /** As `open`, at a port that only this process listens on. */
  async listen({ host, port }: ListenAddress): Promise<ListenAddress> {
    const at = { host, port, backlog: acceptBacklog };
    const count = spreadsOverSockets() ? listenSockets() : 1;
    if (count === 1) return this.#start((own) => own.listen(at));
    // With `reusePort` alone, another server of the same user at this port would go unnoticed.
    const shared = { ...at, port: await freePort(at), reusePort: true };
    return this.#listenAt(shared, count);
  }

  /**
   * As `open`, at a port that other processes of the server listen on. Where the kernel balances connections over sockets, this
   * process has its own; otherwise all processes accept from one socket of the parent. `port`: not 0.
   */
  async listenShared({ host, port }: ListenAddress): Promise<ListenAddress> {
    const reusePort = spreadsOverSockets();
    const at = { host, port, backlog: acceptBacklog, reusePort };
    this.#sharedAt = at;
    return this.#listenAt(at, reusePort ? listenSockets() : 1);
  }

  /**
   * At a shared port: a full process stops accepting as long as another has room. When all are full, all accept, since a login may
   * replace the session of its device.
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
    // The parent may send its socket after the order to close.
    if (this.#isClosed) own.close();
  }

  /** Stops accepting. Resolves when all accepted connections are closed too. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#own.map((own) => new Promise<void>((resolve) => own.close(() => resolve()))));
  }

  #failed(error: Error): void {
    this.#log.error({ error: error.message }, 'sleep listener: failed');
  }
}

/** Half open: the owner closes the socket of a peer that hangs up. Node would close those of a whole city in one turn. */
const socketOptions = { noDelay: true, keepAlive: false, allowHalfOpen: true };

/** Linux balances connections over the sockets of a port. */
function spreadsOverSockets(): boolean {
  return process.platform === 'linux' && hasReusePort();
}

function addressOf(server: Server): ListenAddress {
  const address = server.address();
  assert(address !== null && typeof address === 'object', 'a listener has an address while it listens');
  return { host: address.address, port: address.port };
}
