/**
 * The sockets that the sleep port's connections come from: this process's own, those that it shares with the edges of the same
 * server, or those that a supervisor lends it, each for so many connections. Source: cluster.md, Several processes on one
 * machine; scale-out.md, Edges.
 */
import { createServer, type ListenOptions, type Server, type Socket } from 'node:net';
import { assert } from '../lib/assert.ts';
import {
  acceptBacklog,
  bindGroup,
  handleOf,
  hasReusePort,
  readAcceptQueueMax,
  type BoundSocket,
  type SocketHandle,
} from '../lib/bound-sockets.ts';
import { sleepListenSocketsMax } from '../model/sleep.ts';
import type { Log } from '../lib/log.ts';
import type { ListenAddress } from '../lib/connections/listen-address.ts';

/**
 * `own`: this process listens at the address, and no other. `shared`: the edges of one server do, each as a child of
 * `node:cluster`. `lent`: the sockets are another process's.
 */
export type SleepPort = 'own' | 'shared' | 'lent';

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
  /** By number. */
  readonly #lent = new Map<number, LentSocket>();
  #own: readonly Server[] = [];
  /** Null: the sockets are not shared. */
  #sharedAt: ListenOptions | null = null;
  /** Servers that resume, and have no socket yet. */
  readonly #starting = new Set<Server>();
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

  /** Resolves to the real address when connections are accepted there, or can be lent. `inherited`, errors: as of `listen`. */
  async open(port: SleepPort, at: ListenAddress, inherited: readonly SocketHandle[]): Promise<ListenAddress> {
    if (port === 'lent') return at;
    return port === 'own' ? this.listen(at, inherited) : this.listenShared(at);
  }

  /**
   * Resolves to the real address when connections are accepted there; rejects when it cannot be had. `inherited`: the
   * sockets that another process listens on at the address, with whoever waits in them.
   */
  async listen(at: ListenAddress, inherited: readonly SocketHandle[]): Promise<ListenAddress> {
    const sockets = inherited.length > 0 ? inherited : await bindGroup(at, listenSockets());
    const [address] = await Promise.all(
      sockets.length === 0 ? [this.#listenOn(null, at)] : sockets.map((socket) => this.#listenOn(socket, at)),
    );
    assert(address !== undefined, 'a listener has a socket');
    return address;
  }

  /**
   * The same at a port that other processes of the server listen on. Where the system spreads connections over sockets, these are
   * this process's own; else all processes accept from one, which is the parent's. `port`: not 0.
   */
  async listenShared({ host, port }: ListenAddress): Promise<ListenAddress> {
    const reusePort = process.platform === 'linux' && hasReusePort();
    const at = { host, port, backlog: acceptBacklog, reusePort };
    this.#sharedAt = at;
    const count = reusePort ? listenSockets() : 1;
    const [address] = await Promise.all(
      Array.from({ length: count }, () => this.#start((own) => own.listen(at))),
    );
    assert(address !== undefined, 'a listener has a socket');
    return address;
  }

  /**
   * At a shared port: without room here, connections are left to the other processes as long as these have room. Where none has any,
   * all accept, since a login may replace the session of its device.
   */
  balance(hasRoom: () => boolean): void {
    if (this.#sharedAt === null || this.#hasGivenUp) return;
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

  /** The sockets it listens on; none: it does not, or they are lent. */
  get ownHandles(): readonly SocketHandle[] {
    return this.#own.flatMap((server) => handleOf(server) ?? []);
  }

  /** `socket` null: one of the server's own. */
  #listenOn(socket: SocketHandle | null, { host, port }: ListenAddress): Promise<ListenAddress> {
    return this.#start((own) => {
      if (socket === null) own.listen({ host, port, backlog: acceptBacklog });
      else own.listen(socket, acceptBacklog);
    });
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
    if (this.#hasGivenUp) own.close();
  }

  /** Calls `taken`, accepts so many, then closes the socket here and calls `back` with how many it did not take. */
  borrow(
    { number, socket, connections }: SleepLoan,
    taken: () => void,
    back: (unused: number) => void,
  ): void {
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
    taken();
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
    await Promise.all(this.#own.map((own) => new Promise<void>((resolve) => own.close(() => resolve()))));
  }

  #failed(error: Error): void {
    this.#log.error({ error: error.message }, 'the sleep listener failed');
  }
}

/** Half open: when a peer hangs up its socket is closed by whoever owns it, and not by Node, which would do so for all of a city at once. */
const socketOptions = { noDelay: true, keepAlive: false, allowHalfOpen: true };

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
    this.#server.listen(socket, acceptBacklog);
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
