/**
 * An open leg in the media process, whose words cross the link (remote-leg-service.ts). It outlives links: the next one brings
 * it, and what it had to say meanwhile. Source: calls-and-media.md, Legs; scale-out.md, Edges.
 */
import type { Clock } from '../../lib/clock.ts';
import {
  callStates,
  type AliveSign,
  type CallReport,
  type CallState,
  type LegCloseReason,
  type LegMessage,
} from '../../model/call.ts';
import type { SessionId } from '../../model/ids.ts';
import { bridgeAnswerMsMax, legAliveMsMin, legEndKnownMs, legReportsWaitingMax } from '../../model/limits.ts';
import type { ReservationRefusal } from '../../model/media/picture.ts';
import type { AdmittedLeg, BroughtLeg, MediaMessage } from '../../protocol/media-link/link-message.ts';
import type { CallLeg, OpenBridgeLeg } from '../../core/ports/leg-service.ts';

export interface RemoteLegDeps {
  readonly clock: Clock;
  /** Those that have to say something when the link has drained. */
  readonly waiting: Set<RemoteLeg>;
  send(message: MediaMessage): void;
  /** Also while there is no link. */
  isCongested(): boolean;
  /** It is gone: its socket has said so. */
  left(leg: RemoteLeg): void;
}

type LegReport = Extract<MediaMessage, { readonly kind: 'report' | 'answer' | 'uncarried' }>;

/**
 * An open leg, of a bridge, and so of a device and of a viewer, who say less. What its socket says crosses the link, at
 * most once a second that it is alive. While the server does not read, its words wait here and not in the link, which
 * carries those of all legs.
 */
export class RemoteLeg implements OpenBridgeLeg {
  /** By it the server knows the leg over the present link; 0: it does not. */
  number: number;
  readonly #leg: CallLeg;
  readonly #deps: RemoteLegDeps;
  readonly #admitted: AdmittedLeg;
  #isOpen = true;
  /** The call that a bridge has been given. */
  #sessionId: SessionId | null = null;
  /** The latest state that it knows its call in. */
  #state: CallState = 'issued';
  /** Monotonic: before it such a sign does not cross again. */
  #mediaDueMs = -Infinity;
  #pingDueMs = -Infinity;
  /** Reports for a link that is congested, oldest first. */
  #unsaid: LegReport[] = [];
  #isGoneUnsaid = false;
  /** The last one about its call that has crossed; null: none has. */
  #reported: Extract<LegReport, { readonly kind: 'report' }> | null = null;
  /** Monotonic. */
  #reportedMs = 0;
  /** Monotonic: until then it may answer the present question to a bridge; and one that a core before this one has asked. */
  #askedUntilMs = -Infinity;
  #staleUntilMs = -Infinity;

  constructor(deps: RemoteLegDeps, number: number, admitted: AdmittedLeg, leg: CallLeg) {
    this.#deps = deps;
    this.number = number;
    this.#admitted = admitted;
    this.#leg = leg;
    deps.send({ kind: 'open', leg: number });
  }

  report(report: CallReport, about: string | null = null): void {
    if (report.kind === 'progress') this.#learn(report.state);
    // A longer one names no session, cut or whole.
    const named = about?.slice(0, sessionCharactersMax) ?? null;
    this.#say({ kind: 'report', leg: this.number, report, about: named });
  }

  answerAssignment(accepted: boolean): void {
    this.#askedUntilMs = -Infinity;
    const isStale = this.#deps.clock.monotonicMs() < this.#staleUntilMs;
    this.#staleUntilMs = -Infinity;
    if (!isStale) this.#say({ kind: 'answer', leg: this.number, accepted });
  }

  cannotCarry(why: ReservationRefusal): void {
    this.#askedUntilMs = -Infinity;
    this.#say({ kind: 'uncarried', leg: this.number, why });
  }

  /** One that does not cross is followed by others. */
  alive(by: AliveSign): void {
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs < (by === 'media' ? this.#mediaDueMs : this.#pingDueMs) || !this.#isOpen) return;
    if (this.#mustWait) return;
    if (by === 'media') this.#mediaDueMs = nowMs + legAliveMsMin;
    else this.#pingDueMs = nowMs + legAliveMsMin;
    this.#deps.send({ kind: 'alive', leg: this.number, by });
  }

  disconnected(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#deps.left(this);
    this.#isGoneUnsaid = true;
    if (this.#mustWait) this.#deps.waiting.add(this);
    else this.catchUp();
  }

  /** By the server. A state that it knows by now is not repeated: a core that comes back says it again, or an earlier one. */
  notify(message: LegMessage): void {
    if (message.kind === 'assign') this.#askedUntilMs = this.#deps.clock.monotonicMs() + bridgeAnswerMsMax;
    else if (message.kind === 'start') this.#sessionId = message.sessionId;
    else if (!this.#learn(message.state)) return;
    this.#leg.notify(message);
  }

  /** By the server, or because no core has come back. */
  close(reason: LegCloseReason): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#leg.close(reason);
  }

  /** Says what it kept. False: the link is congested again. */
  catchUp(): boolean {
    for (const report of this.#unsaid.splice(0)) {
      if (this.#deps.isCongested()) this.#unsaid.push(report);
      else this.#cross(report);
    }
    if (this.#mustWait) return false;
    if (this.#isGoneUnsaid) this.#deps.send({ kind: 'gone', leg: this.number });
    this.#isGoneUnsaid = false;
    return true;
  }

  /** The link has ended: what it carried last may have been lost with the core. */
  forget(): void {
    this.number = 0;
    this.#isGoneUnsaid = !this.#isOpen;
    this.#staleUntilMs = this.#askedUntilMs;
    this.#unsaid = this.#unsaid.filter(({ kind }) => kind === 'report');
    if (this.#reported !== null) this.#unsaid.unshift(this.#reported);
    this.#reported = null;
    if (this.#unsaid.length > 0) this.#deps.waiting.add(this);
  }

  /** The leg as it is brought to the next core; null: it was still coming, and comes again. */
  describe(): BroughtLeg | null {
    const admitted = this.#admitted;
    switch (admitted.kind) {
      case 'device': {
        const { sessionId, deviceId, tokenId } = admitted.admission;
        return { kind: 'device', sessionId, deviceId, tokenId };
      }
      case 'bridge': {
        const { keySha256, sessionId: asked } = admitted.admission;
        if (asked !== null && this.#sessionId === null) return null;
        return { kind: 'bridge', keySha256, sessionId: this.#sessionId };
      }
      case 'viewer':
        return { kind: 'viewer', sessionId: admitted.admission.sessionId };
    }
  }

  /** It has reported the end of its call, a moment ago or while no core was there. */
  get hasEndToSay(): boolean {
    return this.#unsaid.some(isEnd) || this.#hasJustEnded;
  }

  get #hasJustEnded(): boolean {
    const isRecent = this.#deps.clock.monotonicMs() < this.#reportedMs + legEndKnownMs;
    return isRecent && this.#reported !== null && isEnd(this.#reported);
  }

  /** False: it knows that, or a later one. */
  #learn(state: CallState): boolean {
    const isNew = callStates.indexOf(state) > callStates.indexOf(this.#state);
    if (isNew) this.#state = state;
    return isNew;
  }

  #say(report: LegReport): void {
    if (!this.#isOpen) return;
    if (!this.#mustWait) return this.#cross(report);
    if (this.#unsaid.length >= legReportsWaitingMax) this.#unsaid.shift();
    this.#unsaid.push(report);
    this.#deps.waiting.add(this);
  }

  #cross(report: LegReport): void {
    if (report.kind === 'report') {
      this.#reported = report;
      this.#reportedMs = this.#deps.clock.monotonicMs();
    }
    this.#deps.send({ ...report, leg: this.number });
  }

  /** Nothing of it overtakes what waits already. */
  get #mustWait(): boolean {
    return this.#unsaid.length > 0 || this.#deps.isCongested();
  }
}

function isEnd(report: LegReport): boolean {
  return report.kind === 'report' && report.report.kind === 'end';
}

/** More than a session's id has, and far less than a bridge could write. */
const sessionCharactersMax = 64;
