/** An open leg in the media process, whose words cross the link (remote-leg-service.ts). Source: calls-and-media.md, Legs. */
import type { Clock } from '../../lib/clock.ts';
import type { AliveSign, CallReport } from '../../model/call.ts';
import { legAliveMsMin, legReportsWaitingMax } from '../../model/limits.ts';
import type { ReservationRefusal } from '../../model/media/picture.ts';
import type { MediaMessage } from '../../protocol/media-link/link-message.ts';
import type { CallLeg, OpenBridgeLeg } from '../../core/ports/leg-service.ts';

export interface RemoteLegDeps {
  readonly clock: Clock;
  /** Those that are open. */
  readonly legs: Map<number, RemoteLeg>;
  /** Those that have to say something when the link has drained. */
  readonly waiting: Set<RemoteLeg>;
  send(message: MediaMessage): void;
  isCongested(): boolean;
}

type LegReport = Extract<MediaMessage, { readonly kind: 'report' | 'answer' | 'uncarried' }>;

/**
 * An open leg, of a bridge, and so of a device and of a viewer, who say less. What its socket says crosses the link, at
 * most once a second that it is alive. While the server does not read, its words wait here and not in the link, which
 * carries those of all legs.
 */
export class RemoteLeg implements OpenBridgeLeg {
  readonly leg: CallLeg;
  readonly #deps: RemoteLegDeps;
  readonly #number: number;
  /** Monotonic: before it such a sign does not cross again. */
  #mediaDueMs = -Infinity;
  #pingDueMs = -Infinity;
  /** Reports for a link that is congested, oldest first. */
  #unsaid: LegReport[] = [];
  #isGoneUnsaid = false;

  constructor(deps: RemoteLegDeps, number: number, leg: CallLeg) {
    this.#deps = deps;
    this.#number = number;
    this.leg = leg;
    deps.legs.set(number, this);
    deps.send({ kind: 'open', leg: number });
  }

  report(report: CallReport, about: string | null = null): void {
    // A longer one names no session, cut or whole.
    const named = about?.slice(0, sessionCharactersMax) ?? null;
    this.#say({ kind: 'report', leg: this.#number, report, about: named });
  }

  answerAssignment(accepted: boolean): void {
    this.#say({ kind: 'answer', leg: this.#number, accepted });
  }

  cannotCarry(why: ReservationRefusal): void {
    this.#say({ kind: 'uncarried', leg: this.#number, why });
  }

  /** One that does not cross is followed by others. */
  alive(by: AliveSign): void {
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs < (by === 'media' ? this.#mediaDueMs : this.#pingDueMs) || !this.#isOpen) return;
    if (this.#mustWait) return;
    if (by === 'media') this.#mediaDueMs = nowMs + legAliveMsMin;
    else this.#pingDueMs = nowMs + legAliveMsMin;
    this.#deps.send({ kind: 'alive', leg: this.#number, by });
  }

  gone(): void {
    if (!this.#deps.legs.delete(this.#number)) return;
    this.#isGoneUnsaid = true;
    if (this.#mustWait) this.#deps.waiting.add(this);
    else this.catchUp();
  }

  /** Says what it kept. False: the link is congested again. */
  catchUp(): boolean {
    for (const report of this.#unsaid.splice(0)) {
      if (this.#deps.isCongested()) this.#unsaid.push(report);
      else this.#deps.send(report);
    }
    if (this.#mustWait) return false;
    if (this.#isGoneUnsaid) this.#deps.send({ kind: 'gone', leg: this.#number });
    this.#isGoneUnsaid = false;
    return true;
  }

  #say(report: LegReport): void {
    if (!this.#isOpen) return;
    if (!this.#mustWait) return this.#deps.send(report);
    if (this.#unsaid.length >= legReportsWaitingMax) this.#unsaid.shift();
    this.#unsaid.push(report);
    this.#deps.waiting.add(this);
  }

  /** Nothing of it overtakes what waits already. */
  get #mustWait(): boolean {
    return this.#unsaid.length > 0 || this.#deps.isCongested();
  }

  get #isOpen(): boolean {
    return this.#deps.legs.has(this.#number);
  }
}

/** More than a session's id has, and far less than a bridge could write. */
const sessionCharactersMax = 64;
