/**
 * The sleep port of several processes: the supervisor has its sockets bound and never accepts. Each is lent to one worker at
 * a time, for so many connections, and then to whoever has the fewest. What waits in a socket is the supervisor's too, so it
 * outlives a worker that dies or is drained, and the next one takes it up. Where Node and the system spread connections
 * over sockets there is one for each worker, otherwise one that goes from hand to hand.
 * Source: cluster.md, Several processes on one machine; sleep-wire.md, Storms.
 */
import type { BoundSocket } from '../../lib/bound-sockets.ts';
import { sleepLoanConnectionsMin } from '../../model/sleep.ts';
import type { Log } from '../../lib/log.ts';
import type { ListenAddress } from '../../lib/connections/listen-address.ts';
import type { SleepCounts } from '../../edge/sleep-sockets.ts';
import type { ProcessFork, SleepReturn } from './process-messages.ts';

export interface SleepPortDeps {
  readonly log: Log;
  /** As many sockets as each of so many workers accepts from, or one in all. */
  bind(address: ListenAddress, workers: number): Promise<readonly BoundSocket[]>;
}

interface PortSocket {
  readonly socket: BoundSocket;
  readonly number: number;
  /** Null: nobody accepts from it, and who comes waits in it. */
  holder: SleepBorrower | null;
}

export class SupervisorSleepPort {
  readonly #deps: SleepPortDeps;
  /** Those that take connections now. */
  readonly #workers: () => readonly SleepBorrower[];
  #sockets: readonly PortSocket[] = [];
  /** Nobody has listened on them yet: the kernel refuses who comes. */
  readonly #silent = new Set<number>();
  #opened: () => void = () => undefined;
  #turn = 0;

  constructor(deps: SleepPortDeps, workers: () => readonly SleepBorrower[]) {
    this.#deps = deps;
    this.#workers = workers;
  }

  /** Resolves when the workers accept. Rejects with a sentence. */
  async open(address: ListenAddress, workers: number): Promise<void> {
    const sockets = await this.#deps.bind(address, workers);
    this.#sockets = sockets.map((socket, number) => ({ socket, number, holder: null }));
    const opened = new Promise<void>((resolve) => (this.#opened = resolve));
    for (const { number } of this.#sockets) this.#silent.add(number);
    for (const socket of this.#sockets) this.#lend(socket);
    await opened;
  }

  /** A worker accepts from the socket of this number. Who comes waits in it from then on while nobody has it. */
  taken(number: number): void {
    if (this.#silent.delete(number) && this.#silent.size === 0) this.#opened();
  }

  /** Call it whenever a worker comes or goes. */
  workersChanged(): void {
    const workers = this.#workers();
    const isOrphan = ({ holder }: PortSocket): boolean => holder === null || !workers.includes(holder);
    const orphans = this.#sockets.filter(isOrphan);
    if (workers.length === 0 && orphans.some(({ holder }) => holder !== null))
      this.#deps.log.warn({}, 'sleep connections wait: no worker takes them');
    for (const orphan of orphans) this.#lend(orphan);
    this.#callBack();
  }

  /** By the worker that had it; one that had it in an earlier life, or is drained, has lost it already. */
  returned(by: SleepBorrower, { number, unused }: SleepReturn): void {
    const socket = this.#sockets[number];
    if (socket?.holder !== by) return;
    by.unused(unused);
    this.#lend(socket);
  }

  /** Who waits is reset, once no worker has the sockets any more. */
  close(): void {
    for (const { socket } of this.#sockets) socket.close();
    this.#sockets = [];
  }

  /** For somebody who has none: a worker that has just come has the fewest connections. */
  #callBack(): void {
    const holders = new Set(this.#sockets.map(({ holder }) => holder));
    if (this.#workers().every((worker) => holders.has(worker))) return;
    for (const holder of holders) holder?.callBack();
  }

  #lend(to: PortSocket): void {
    to.holder = this.#fewest();
    to.holder?.lend(to.number, to.socket);
  }

  /** Ties take turns. */
  #fewest(): SleepBorrower | null {
    const workers = this.#workers();
    this.#turn += 1;
    let fewest: SleepBorrower | null = null;
    for (let i = 0; i < workers.length; i += 1) {
      const worker = workers[(this.#turn + i) % workers.length];
      if (worker !== undefined && (fewest === null || worker.load < fewest.load)) fewest = worker;
    }
    return fewest;
  }
}

/** A worker is lent a socket for this part of the connections it has: so far from even they may be. */
const loanShare = 1 / 40;

/** What one life of a worker has of the sleep port. */
export class SleepBorrower {
  readonly #fork: Pick<ProcessFork, 'order'>;
  /** Connections that it may have taken, by all that it was ever lent. */
  #allowed = 0;
  #reported: SleepCounts = { open: 0, taken: 0 };

  constructor(fork: Pick<ProcessFork, 'order'>) {
    this.#fork = fork;
  }

  /** The connections that it has, and all those that it may still take. */
  get load(): number {
    return this.#reported.open + this.#allowed - this.#reported.taken;
  }

  lend(number: number, socket: BoundSocket): void {
    const connections = Math.max(sleepLoanConnectionsMin, Math.floor(this.load * loanShare));
    this.#allowed += connections;
    this.#fork.order({ kind: 'sleep-socket', number, connections }, socket);
  }

  callBack(): void {
    this.#fork.order({ kind: 'sleep-sockets-back' });
  }

  unused(connections: number): void {
    this.#allowed -= connections;
  }

  reported(counts: SleepCounts): void {
    this.#reported = counts;
  }
}
