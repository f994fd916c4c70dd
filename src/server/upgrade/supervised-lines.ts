/**
 * The ways between a worker and its successor, which are by the supervisor of both: it starts the one for the other, and passes
 * on what they send each other, sockets too. Source: docs/adr/0027-upgrade-without-a-closed-socket.md.
 */
import type { SocketHandle } from '../../lib/bound-sockets.ts';
import { reportToSupervisor } from '../supervisor/process-channel.ts';
import type { PredecessorFollower, PredecessorLine } from './predecessor.ts';
import type { SuccessorFollower, SuccessorLine } from './successor.ts';
import type { SuccessorOrder, SuccessorReport } from './hand-over-messages.ts';

/** Of the supervisor's word that an order is on its way. */
type Passing = () => void;

export class SupervisedSuccessorLine implements SuccessorLine {
  /** Orders that the supervisor has not passed on yet: it holds few sockets at a time. */
  readonly #passing = new Set<Passing>();
  #follower: SuccessorFollower | null = null;
  #isGone = false;

  /** The supervisor starts the process. */
  constructor() {
    reportToSupervisor({ kind: 'start-successor' });
  }

  follow(follower: SuccessorFollower): void {
    this.#follower = follower;
  }

  send(order: SuccessorOrder, socket?: SocketHandle): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#isGone) return reject(new Error('it has ended'));
      const passing: Passing = () => {
        this.#passing.delete(passing);
        resolve();
      };
      this.#passing.add(passing);
      const sent = (error: Error | null): void => {
        if (error === null) return;
        this.#passing.delete(passing);
        // What was to be sent may have closed meanwhile.
        if (socket !== undefined && process.connected) resolve();
        else reject(error);
      };
      reportToSupervisor({ kind: 'to-successor', order }, sent, socket);
    });
  }

  kill(): void {
    reportToSupervisor({ kind: 'end-successor' });
  }

  leave(): void {}

  reported(report: SuccessorReport): void {
    this.#follower?.reported(report);
  }

  /** The first of those that wait. */
  passedOn(): void {
    const [first] = this.#passing;
    first?.();
  }

  ended(how: string): void {
    this.#isGone = true;
    this.#follower?.ended(how);
    for (const passing of Array.from(this.#passing)) passing();
  }
}

export class SupervisedPredecessorLine implements PredecessorLine {
  #follower: PredecessorFollower | null = null;

  follow(follower: PredecessorFollower): void {
    this.#follower = follower;
  }

  report(report: SuccessorReport, sent?: () => void): void {
    reportToSupervisor({ kind: 'to-predecessor', report }, sent);
  }

  ordered(order: SuccessorOrder, socket: SocketHandle | null): void {
    this.#follower?.ordered(order, socket);
  }

  ended(): void {
    this.#follower?.ended();
  }
}
