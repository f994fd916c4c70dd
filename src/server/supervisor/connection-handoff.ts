/**
 * The connections to the sleep port that one worker is given. A channel takes one at a time and waits until the
 * process has it: those behind stand in a line here, and go to others if the process dies first.
 * Source: cluster.md, Several processes on one machine.
 */
import type { Socket } from 'node:net';
import { handoffsMax } from '../../model/limits.ts';
import type { ProcessFork, ProcessReport } from './process-messages.ts';

type Heartbeat = Pick<Extract<ProcessReport, { kind: 'beat' }>, 'sleepConnections' | 'sleepTaken'>;

export class ConnectionHandoff {
  readonly #fork: Pick<ProcessFork, 'hand'>;
  /** The first is on its way. */
  readonly #line: Socket[] = [];
  #given = 0;
  #told: Heartbeat = { sleepConnections: 0, sleepTaken: 0 };

  constructor(fork: Pick<ProcessFork, 'hand'>) {
    this.#fork = fork;
  }

  /** What it had when it was asked last, and what it was given since. */
  get load(): number {
    return this.#told.sleepConnections + this.#given - this.#told.sleepTaken;
  }

  get isFull(): boolean {
    return this.#line.length >= handoffsMax;
  }

  give(socket: Socket): void {
    this.#given += 1;
    this.#line.push(socket);
    if (this.#line.length === 1) this.#hand(socket);
  }

  told(heartbeat: Heartbeat): void {
    this.#told = heartbeat;
  }

  /** Those that it has not got, once it takes no more. */
  takeBack(): Socket[] {
    return this.#line.splice(0);
  }

  #hand(socket: Socket): void {
    this.#fork.hand(socket, () => {
      if (this.#line[0] !== socket) return;
      this.#line.shift();
      const [next] = this.#line;
      if (next !== undefined) this.#hand(next);
    });
  }
}
