/**
 * The sleep port of several processes: the supervisor accepts, reads nothing, and hands each connection to the worker
 * that has the fewest. A connection that finds all of them full, or none, is reset: a module comes back, and one that
 * waits here would be known to nobody. Source: cluster.md, Several processes on one machine; sleep-wire.md, Storms.
 */
import { createServer, type Server, type Socket } from 'node:net';
import { boundSessions, readOpenFilesLimit } from '../../lib/open-files-limit.ts';
import { descriptorsReserved, handoffsMax, sleepAcceptBacklog } from '../../model/limits.ts';
import type { Log } from '../../core/ports/log.ts';
import type { ListenAddress } from '../config/settings-values.ts';
import type { ProcessFork, ProcessReport } from './process-messages.ts';

export class SupervisorSleepPort {
  readonly #log: Log;
  readonly #workers: () => readonly ConnectionHandoff[];
  readonly #server: Server;
  #turn = 0;
  /** Since the last report. */
  #refused = 0;

  /** `workers`: those that take connections now. */
  constructor(log: Log, workers: () => readonly ConnectionHandoff[]) {
    this.#log = log;
    this.#workers = workers;
    this.#server = createServer({ pauseOnConnect: true, noDelay: true, keepAlive: false }, (socket) => {
      socket.on('error', ignore);
      this.give(socket);
    });
    this.#server.maxConnections = boundSessions(Infinity, readOpenFilesLimit(), descriptorsReserved);
    this.#server.on('drop', () => (this.#refused += 1));
  }

  /** Resolves when connections are accepted. Rejects with a sentence. */
  listen({ host, port }: ListenAddress): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host, port, backlog: sleepAcceptBacklog }, () => {
        this.#server.off('error', reject);
        this.#server.on('error', (error) => this.#log.error({ err: error }, 'the sleep port failed'));
        resolve();
      });
    });
  }

  /** To the worker that has the fewest; ties take turns. */
  give(socket: Socket): void {
    const workers = this.#workers();
    this.#turn += 1;
    let fewest: ConnectionHandoff | undefined;
    for (let i = 0; i < workers.length; i += 1) {
      const worker = workers[(this.#turn + i) % workers.length];
      if (worker === undefined || worker.isFull) continue;
      if (fewest === undefined || worker.load < fewest.load) fewest = worker;
    }
    if (fewest !== undefined) return fewest.give(socket);
    this.#refused += 1;
    socket.resetAndDestroy();
  }

  /** Logs how many were refused since the last time. */
  report(): void {
    if (this.#refused === 0) return;
    this.#log.warn({ connections: this.#refused }, 'sleep connections are reset: no worker takes them');
    this.#refused = 0;
  }

  /** Accepts no more. What was handed over stays. */
  close(): void {
    if (this.#server.listening) this.#server.close();
  }
}

function ignore(): void {
  // A peer that is gone: whoever is handed its connection finds that out.
}

type Heartbeat = Pick<Extract<ProcessReport, { kind: 'heartbeat' }>, 'sleepConnections' | 'sleepTaken'>;

/**
 * The connections that one worker is given. Node's channel to it takes one at a time and waits until the process has it:
 * those behind wait here, and go to other workers if the process dies first.
 */
export class ConnectionHandoff {
  readonly #fork: Pick<ProcessFork, 'hand'>;
  /** The first is on its way. */
  readonly #waiting: Socket[] = [];
  #given = 0;
  #reported: Heartbeat = { sleepConnections: 0, sleepTaken: 0 };

  constructor(fork: Pick<ProcessFork, 'hand'>) {
    this.#fork = fork;
  }

  /** The connections it last reported, and those given since. */
  get load(): number {
    return this.#reported.sleepConnections + this.#given - this.#reported.sleepTaken;
  }

  get isFull(): boolean {
    return this.#waiting.length >= handoffsMax;
  }

  give(socket: Socket): void {
    this.#given += 1;
    this.#waiting.push(socket);
    if (this.#waiting.length === 1) this.#hand(socket);
  }

  reported(heartbeat: Heartbeat): void {
    this.#reported = heartbeat;
  }

  /** The connections that it has not got, once it takes no more. */
  takeBack(): Socket[] {
    return this.#waiting.splice(0);
  }

  #hand(socket: Socket): void {
    this.#fork.hand(socket, () => {
      if (this.#waiting[0] !== socket) return;
      this.#waiting.shift();
      const [next] = this.#waiting;
      if (next !== undefined) this.#hand(next);
    });
  }
}
