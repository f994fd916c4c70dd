/**
 * One worker's hand-over to its successor, as the supervisor of both has it: it starts the one when the other says so, passes
 * on what they send each other, sockets too, and sees to it that one of them is left. Both are the same member, so that
 * nothing changes for the other processes. Source: docs/adr/0027-upgrade-without-a-closed-socket.md.
 */
import type { SocketHandle } from '../../lib/bound-sockets.ts';
import type { Clock } from '../../lib/clock.ts';
import { fail, messageOf, succeed, type Result } from '../../lib/result.ts';
import type { MemberId } from '../../model/cluster.ts';
import { processStopMsMax } from '../../model/limits.ts';
import { relayMsMax } from '../../model/upgrade-limits.ts';
import type { Log } from '../../core/ports/log.ts';
import { endOrKill } from './child.ts';
import type { ProcessFork, ProcessReport, ProcessState, ProcessTask } from './process-messages.ts';
import type { SleepBorrower } from './sleep-port.ts';

/** One life of a process. */
export interface Life {
  readonly fork: ProcessFork;
  readonly borrower: SleepBorrower;
  readonly task: ProcessTask;
  readonly startedMs: number;
  state: Exclude<ProcessState, 'down'>;
  /** Connections to the sleep port, while it is up. */
  takesConnections: boolean;
  heartbeatsUnanswered: number;
  /** Its own reason why it cannot start. */
  fault: string | null;
  /** Called when it is up. */
  isUp: () => void;
}

export interface SuccessionDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Null: none is there. */
  serving(): Life | null;
  /** A life that goes on as this member. Throws when the machine has no process to give. */
  begin(member: MemberId): Life;
  /** The successor serves, in the place of the life that did. */
  succeeded(successor: Life): void;
}

type HandOverReport = Extract<
  ProcessReport,
  { kind: 'start-successor' | 'end-successor' | 'to-successor' | 'to-predecessor' | 'not-handed-over' }
>;

export class Succession {
  readonly #deps: SuccessionDeps;
  /** It does not serve yet. */
  #successor: Life | null = null;
  /** It has handed over, and answers those who have a connection to it. */
  #leaving: Life | null = null;
  #settle: (result: Result<null, string>) => void = () => undefined;

  constructor(deps: SuccessionDeps) {
    this.#deps = deps;
  }

  /** Beside the one that serves. */
  get lives(): readonly Life[] {
    return [this.#successor, this.#leaving].filter((life) => life !== null);
  }

  /** Resolves when a successor of `life` serves and that is gone; fails with a sentence when it does not, and `life` goes on. */
  handOver({ fork }: Life): Promise<Result<null, string>> {
    const handedOver = new Promise<Result<null, string>>((resolve) => (this.#settle = resolve));
    fork.order({ kind: 'hand-over' });
    return handedOver;
  }

  reported(life: Life, report: HandOverReport, socket: SocketHandle | null): void {
    switch (report.kind) {
      case 'start-successor':
        return this.#start(life);
      case 'end-successor':
        return this.#end(life);
      case 'to-successor':
        return this.#passOn(life, report, socket);
      case 'to-predecessor': {
        const predecessor = life === this.#successor ? this.#deps.serving() : this.#leaving;
        return predecessor?.fork.order({ kind: 'from-successor', report: report.report });
      }
      case 'not-handed-over':
        return this.#settle(fail(report.reason));
    }
  }

  /** A life is up: it may be the successor of the one that served. */
  up(life: Life): void {
    if (life !== this.#successor) return;
    const leaving = this.#deps.serving();
    this.#successor = null;
    this.#leaving = leaving;
    this.#deps.succeeded(life);
    if (leaving !== null) void this.#seeOff(leaving);
  }

  /** True: it was one of those beside the life that serves. */
  ended(life: Life, how: string): boolean {
    if (life === this.#successor) {
      this.#successor = null;
      this.#deps.serving()?.fork.order({ kind: 'successor-ended', how: life.fault ?? how });
      return true;
    }
    if (life !== this.#leaving) return false;
    this.#leaving = null;
    this.#settle(succeed(null));
    return true;
  }

  /** The life that served is gone, and with it what it has not handed over yet. */
  lost(how: string): void {
    this.#successor?.fork.kill();
    this.#leaving?.fork.order({ kind: 'successor-ended', how });
    this.#settle(fail(`the process ended meanwhile: ${how}`));
  }

  /** No successor is to serve any more. */
  stop(): void {
    this.#successor?.fork.kill();
  }

  #start({ fork, task }: Life): void {
    try {
      this.#successor = this.#deps.begin(task.member);
    } catch (error) {
      fork.order({ kind: 'successor-ended', how: messageOf(error) });
    }
  }

  #end(life: Life): void {
    const { fork } = life;
    // Its word was on the way when the successor was there: one of the two has to go.
    if (life === this.#leaving) fork.kill();
    else if (this.#successor === null) fork.order({ kind: 'successor-ended', how: 'it was ended' });
    else this.#successor.fork.kill();
  }

  #passOn(
    life: Life,
    { order }: Extract<HandOverReport, { kind: 'to-successor' }>,
    socket: SocketHandle | null,
  ): void {
    const successor = life === this.#leaving ? this.#deps.serving() : this.#successor;
    const passedOn = (): void => {
      socket?.close();
      life.fork.order({ kind: 'order-passed-on' });
    };
    if (successor === null) passedOn();
    else successor.fork.order({ kind: 'from-predecessor', order }, socket ?? undefined, passedOn);
  }

  async #seeOff({ fork, task: { process, member } }: Life): Promise<void> {
    const { clock, log } = this.#deps;
    await endOrKill(fork, {
      clock,
      msMax: relayMsMax + processStopMsMax,
      ending: fork.ended,
      overdue: () =>
        log.warn({ process, pid: fork.pid, member }, 'a process that has handed over does not end, and is killed'),
    });
  }
}
