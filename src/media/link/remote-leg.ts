/**
 * An open leg in the media process, whose reports cross the link (remote-leg-service.ts). It outlives links: the next core adopts it,
 * and receives the reports queued meanwhile. Source: calls-and-media.md, Legs; scale-out.md, Edges.
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
  /** Legs with reports to send when the link has drained. */
  readonly waiting: Set<RemoteLeg>;
  send(message: MediaMessage): void;
  /** True also while there is no link. */
  isCongested(): boolean;
  /** The leg has ended: its socket is closed. */
  left(leg: RemoteLeg): void;
}

type LegReport = Extract<MediaMessage, { readonly kind: 'report' | 'answer' | 'uncarried' }>;

/**
 * An open leg of a bridge, and of a device or a viewer, which report less. Its reports cross the link; signs of life at most once a
 * second. While the server does not read, reports are queued here and not in the link, which all legs share.
 */
export class RemoteLeg implements OpenBridgeLeg {
  /** Number of the leg on the present link; 0: the server does not know it. */
  number: number;
  readonly #leg: CallLeg;
  readonly #deps: RemoteLegDeps;
  readonly #admitted: AdmittedLeg;
  #isOpen = true;
  #sessionId: SessionId | null = null;
  #state: CallState = 'issued';
  /** Monotonic times before which such a sign of life is not sent again. */
  #mediaDueMs = -Infinity;
  #pingDueMs = -Infinity;
  /** Reports that wait for a congested link, oldest first. */
  #queued: LegReport[] = [];
  #isEndQueued = false;
  /** The last report about its call that was sent; null: none. */
  #reported: Extract<LegReport, { readonly kind: 'report' }> | null = null;
  /** Monotonic. */
  #reportedMs = 0;
  /** Monotonic deadlines: for the bridge's answer to the present question, and for one that a previous core asked. */
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
    if (report.kind === 'progress') this.#advanceState(report.state);
    // A longer text names no session, whole or cut.
    const named = about?.slice(0, sessionCharactersMax) ?? null;
    this.#sendOrEnqueue({ kind: 'report', leg: this.number, report, about: named });
  }

  answerAssignment(accepted: boolean): void {
    this.#askedUntilMs = -Infinity;
    const isStale = this.#deps.clock.monotonicMs() < this.#staleUntilMs;
    this.#staleUntilMs = -Infinity;
    if (!isStale) this.#sendOrEnqueue({ kind: 'answer', leg: this.number, accepted });
  }

  cannotCarry(why: ReservationRefusal): void {
    this.#askedUntilMs = -Infinity;
    this.#sendOrEnqueue({ kind: 'uncarried', leg: this.number, why });
  }

  /** Sends at most one sign of life of each kind a second; drops it while the link is congested. */
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
    this.#isEndQueued = true;
    if (this.#mustWait) this.#deps.waiting.add(this);
    else this.catchUp();
  }

  /** Message of the server. A state that is already known is not repeated: a new core may send it, or an earlier one, again. */
  notify(message: LegMessage): void {
    if (message.kind === 'assign') this.#askedUntilMs = this.#deps.clock.monotonicMs() + bridgeAnswerMsMax;
    else if (message.kind === 'start') this.#sessionId = message.sessionId;
    else if (!this.#advanceState(message.state)) return;
    this.#leg.notify(message);
  }

  /** Closed by the server, or because no core has returned. */
  close(reason: LegCloseReason): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#leg.close(reason);
  }

  /** Sends the queued reports. False: the link is congested again. */
  catchUp(): boolean {
    for (const report of this.#queued.splice(0)) {
      if (this.#deps.isCongested()) this.#queued.push(report);
      else this.#sendReport(report);
    }
    if (this.#mustWait) return false;
    if (this.#isEndQueued) this.#deps.send({ kind: 'gone', leg: this.number });
    this.#isEndQueued = false;
    return true;
  }

  /** The link has ended: reports sent last may be lost with the core, and are queued again. */
  forget(): void {
    this.number = 0;
    this.#isEndQueued = !this.#isOpen;
    this.#staleUntilMs = this.#askedUntilMs;
    this.#queued = this.#queued.filter(({ kind }) => kind === 'report');
    if (this.#reported !== null) this.#queued.unshift(this.#reported);
    this.#reported = null;
    if (this.#queued.length > 0) this.#deps.waiting.add(this);
  }

  /** The leg as the next core adopts it; null: it was still connecting, and reconnects. */
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

  /** It reported the end of its call a moment ago, or that report is still queued. */
  get hasUnconfirmedEnd(): boolean {
    return this.#queued.some(isEnd) || this.#hasJustEnded;
  }

  get #hasJustEnded(): boolean {
    const isRecent = this.#deps.clock.monotonicMs() < this.#reportedMs + legEndKnownMs;
    return isRecent && this.#reported !== null && isEnd(this.#reported);
  }

  /** False: it knows this state or a later one. */
  #advanceState(state: CallState): boolean {
    const isNew = callStates.indexOf(state) > callStates.indexOf(this.#state);
    if (isNew) this.#state = state;
    return isNew;
  }

  #sendOrEnqueue(report: LegReport): void {
    if (!this.#isOpen) return;
    if (!this.#mustWait) return this.#sendReport(report);
    if (this.#queued.length >= legReportsWaitingMax) this.#queued.shift();
    this.#queued.push(report);
    this.#deps.waiting.add(this);
  }

  #sendReport(report: LegReport): void {
    if (report.kind === 'report') {
      this.#reported = report;
      this.#reportedMs = this.#deps.clock.monotonicMs();
    }
    this.#deps.send({ ...report, leg: this.number });
  }

  /** Reports stay in order: none overtakes a queued one. */
  get #mustWait(): boolean {
    return this.#queued.length > 0 || this.#deps.isCongested();
  }
}

function isEnd(report: LegReport): boolean {
  return report.kind === 'report' && report.report.kind === 'end';
}

/** Longer than any session id, and a bound on what a bridge can write. */
const sessionCharactersMax = 64;
