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
import type { Log } from '../../lib/log.ts';
import { endOrKill } from '../children/spare.ts';
import type { ProcessLife } from './process-life.ts';
import type { ProcessReport } from './process-messages.ts';

export interface WorkerHandOverDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Null: none is there. */
  serving(): ProcessLife | null;
  /** A life that goes on as this member. Throws when the machine has no process to give. */
  begin(member: MemberId): ProcessLife;
  /** The successor serves, in the place of the life that did. */
  succeeded(successor: ProcessLife): void;
}

type HandOverReport = Extract<
  ProcessReport,
  { kind: 'start-successor' | 'end-successor' | 'to-successor' | 'to-predecessor' | 'not-handed-over' }
>;

export class WorkerHandOver {
  readonly #deps: WorkerHandOverDeps;
  /** It does not serve yet. */
  #successor: ProcessLife | null = null;
  /** It has handed over, and answers those who have a connection to it. */
  #leaving: ProcessLife | null = null;
  #settle: (result: Result<null, string>) => void = () => undefined;

  constructor(deps: WorkerHandOverDeps) {
    this.#deps = deps;
  }

  /** Beside the one that serves. */
  get lives(): readonly ProcessLife[] {
    return [this.#successor, this.#leaving].filter((life) => life !== null);
  }

  /** Resolves when a successor of `life` serves and that is gone; fails with a sentence when it does not, and `life` goes on. */
  handOver({ fork }: ProcessLife): Promise<Result<null, string>> {
    const handedOver = new Promise<Result<null, string>>((resolve) => (this.#settle = resolve));
    fork.order({ kind: 'hand-over' });
    return handedOver;
  }

  reported(life: ProcessLife, report: HandOverReport, socket: SocketHandle | null): void {
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
  up(life: ProcessLife): void {
    if (life !== this.#successor) return;
    const leaving = this.#deps.serving();
    this.#successor = null;
    this.#leaving = leaving;
    this.#deps.succeeded(life);
    if (leaving !== null) void this.#seeOff(leaving);
  }

  /** True: it was one of those beside the life that serves. */
  ended(life: ProcessLife, how: string): boolean {
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

  #start({ fork, task }: ProcessLife): void {
    try {
      this.#successor = this.#deps.begin(task.member);
    } catch (error) {
      fork.order({ kind: 'successor-ended', how: messageOf(error) });
    }
  }

  #end(life: ProcessLife): void {
    const { fork } = life;
    // Its word was on the way when the successor was there: one of the two has to go.
    if (life === this.#leaving) fork.kill();
    else if (this.#successor === null) fork.order({ kind: 'successor-ended', how: 'it was ended' });
    else this.#successor.fork.kill();
  }

  #passOn(
    life: ProcessLife,
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

  async #seeOff({ fork, task: { process, member } }: ProcessLife): Promise<void> {
    const { clock, log } = this.#deps;
    await endOrKill(fork, {
      clock,
      msMax: relayMsMax + processStopMsMax,
      ending: fork.ended,
      overdue: () =>
        log.warn(
          { process, pid: fork.pid, member },
          'a process that has handed over does not end, and is killed',
        ),
    });
  }
}
