/**
 * The leg service in the media process, and its open legs. It checks tokens itself, and asks the server for everything else. A leg is
 * open at once; if the server rejects it, a close follows, as at the end of its call. Each admitted leg has the number that the server
 * assigned, so that only granted legs can be opened. While there is no link, legs stay and newcomers wait; the next core adopts the
 * legs. Source: calls-and-media.md, Legs; scale-out.md, Edges.
 */
import { completesWithin, type Clock } from '../../lib/clock.ts';
import { deferred } from '../../lib/deferred.ts';
import { OpenAsks } from '../../lib/link/open-asks.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { acquireTokens, fullBucket, type Rate, type TokenBucket } from '../../lib/token-bucket.ts';
import { checkCallToken } from '../../protocol/call-token/call-token.ts';
import type { TokenKeys } from '../../protocol/call-token/token-keys.ts';
import type { LegCloseReason } from '../../model/call.ts';
import { legAdmissionMsMax, legRequestBytesMax, linkQuestionsMax } from '../../model/limits.ts';
import type {
  AdmittedLeg,
  BroughtLeg,
  MediaMessage,
  ServerMessage,
} from '../../protocol/media-link/link-message.ts';
import type {
  AdmissionOf,
  AdmissionRefusal,
  BridgeAdmission,
  LegService,
  DeviceAdmission,
  OpenBridgeLeg,
  OpenDeviceLeg,
  OpenViewer,
  ViewerAdmission,
  CallLeg,
} from '../../core/ports/leg-service.ts';
import { RemoteLeg, type RemoteLegDeps } from './remote-leg.ts';

export interface RemoteLegServiceDeps {
  readonly clock: Clock;
  send(message: MediaMessage): void;
  /** The server reads more slowly than this end sends. */
  isCongested(): boolean;
  /** Null: the server has not sent them yet. */
  keys(): TokenKeys | null;
}

type LegServiceMessage = Extract<
  ServerMessage,
  { readonly kind: 'admitted' | 'refused' | 'elsewhere' | 'heard' | 'tell' | 'close' }
>;
type LegServiceAnswer = Exclude<LegServiceMessage, { readonly kind: 'tell' | 'close' }>;

/** Rate of questions about tokens with unknown keys; beyond it such a token is answered 503. */
const keyAsks: Rate = { perSecond: 20, burst: 100 };

export class RemoteLegService implements LegService {
  readonly #deps: RemoteLegServiceDeps;
  readonly #questions: OpenAsks<{ readonly leg: LegServiceAnswer }, 'unanswered'>;
  /** By the admission object that was handed out, until it is used. */
  #grants = new WeakMap<object, { readonly number: number; readonly admitted: AdmittedLeg }>();
  readonly #legDeps: RemoteLegDeps;
  readonly #open = new Set<RemoteLeg>();
  /** Open legs by their numbers; empty while there is no link. */
  readonly #byNumber = new Map<number, RemoteLeg>();
  readonly #waiting = new Set<RemoteLeg>();
  /** Closed legs that reported the end of their call, which a core may have lost; oldest first. */
  #ended = new Set<RemoteLeg>();
  readonly #keyAsks: TokenBucket;
  #stage: 'away' | 'linked' | 'over' = 'away';
  /** Resolves with the next link, or when none follows. */
  #nextLink = deferred();

  constructor(deps: RemoteLegServiceDeps) {
    const { clock } = deps;
    this.#deps = deps;
    this.#keyAsks = fullBucket(keyAsks, clock.monotonicMs());
    this.#questions = new OpenAsks(clock, {
      max: linkQuestionsMax,
      unsent: 'unanswered',
      expired: () => 'unanswered',
    });
    this.#legDeps = { ...deps, waiting: this.#waiting, left: (leg) => this.#left(leg) };
  }

  async flush(): Promise<void> {
    if (this.#stage === 'linked') await this.#question((question) => ({ kind: 'ask-heard', question }));
  }

  async admitDevice(token: string): Promise<Result<DeviceAdmission, AdmissionRefusal>> {
    if (!(await this.#isLinkedInTime())) return fail('unavailable');
    const keys = this.#deps.keys();
    if (keys === null) return fail('unavailable');
    const checked = await checkCallToken(keys, token);
    if (!checked.ok && checked.error !== 'unknown_key') return checked;
    if (!checked.ok && !this.#mayAskOfKey()) return fail('busy');
    return this.#ask('device', (question) => ({ kind: 'admit-device', question, token }));
  }

  /** A text longer than a request is cut: it is no valid key and no session. */
  admitBridge(key: string, sessionId: string | null): Promise<Result<BridgeAdmission, AdmissionRefusal>> {
    const shown = { key: cut(key), sessionId: sessionId === null ? null : cut(sessionId) };
    return this.#ask('bridge', (question) => ({ kind: 'admit-bridge', question, ...shown }));
  }

  admitViewer(ticket: string): Promise<Result<ViewerAdmission, AdmissionRefusal>> {
    return this.#ask('viewer', (question) => ({ kind: 'admit-viewer', question, ticket: cut(ticket) }));
  }

  /** An admission opens one leg; null if it was used before. */
  openDeviceLeg(admission: DeviceAdmission, leg: CallLeg): OpenDeviceLeg | null {
    return this.#openLeg(admission, leg);
  }

  openBridgeLeg(admission: BridgeAdmission, leg: CallLeg): OpenBridgeLeg | null {
    return this.#openLeg(admission, leg);
  }

  openViewer(admission: ViewerAdmission, leg: CallLeg): OpenViewer | null {
    return this.#openLeg(admission, leg);
  }

  received(message: LegServiceMessage): void {
    switch (message.kind) {
      case 'tell':
        this.#byNumber.get(message.leg)?.notify(message.message);
        return;
      case 'close': {
        const closed = this.#byNumber.get(message.leg);
        if (closed !== undefined) this.#close(closed, message.reason);
        return;
      }
      default:
        this.#questions.answered(message.question, 'leg', message);
    }
  }

  /** The server reads again: waiting legs send their queued reports, until the link is congested. */
  linkDrained(): void {
    for (const leg of this.#waiting) {
      if (!leg.catchUp()) return;
      this.#waiting.delete(leg);
    }
  }

  /** The server cannot be reached: legs stay for the next link. */
  linkEnded(): void {
    if (this.#stage === 'linked') this.#nextLink = deferred();
    this.#stage = 'away';
    this.#grants = new WeakMap();
    this.#questions.failAll();
    const gone = [...this.#ended, ...this.#waiting].filter(
      (leg) => !this.#open.has(leg) && leg.hasUnconfirmedEnd,
    );
    this.#ended = new Set(gone);
    this.#waiting.clear();
    this.#byNumber.clear();
    for (const leg of [...this.#open, ...this.#ended]) leg.forget();
  }

  /**
   * Describes the legs for the server of a new link, in the order of their new numbers, those with calls first. Call `linked` when all
   * are sent.
   */
  describeLegs(): BroughtLeg[] {
    const described = [...this.#open, ...this.#ended].flatMap((leg) => {
      const brought = leg.describe();
      if (brought !== null) return [{ leg, brought }];
      this.#close(leg, 'drain');
      return [];
    });
    this.#ended.clear();
    const inOrder = described.toSorted((one, other) => rankOf(one.brought) - rankOf(other.brought));
    for (const [index, { leg }] of inOrder.entries()) {
      leg.number = index + 1;
      if (this.#open.has(leg)) this.#byNumber.set(leg.number, leg);
    }
    return inOrder.map(({ brought }) => brought);
  }

  /** The server knows all legs: queued reports are sent, and newcomers are admitted. */
  linked(): void {
    this.#stage = 'linked';
    for (const leg of this.#waiting) if (leg.number === 0) this.#waiting.delete(leg);
    this.linkDrained();
    this.#nextLink.resolve();
  }

  /** No server has returned in time: closes the legs. */
  giveUp(): void {
    this.#waiting.clear();
    this.#ended.clear();
    for (const leg of this.#open) this.#close(leg, 'drain');
  }

  /** No other link follows: no leg is admitted any more. */
  end(): void {
    this.#stage = 'over';
    this.#nextLink.resolve();
    this.giveUp();
  }

  async #isLinkedInTime(): Promise<boolean> {
    if (this.#stage === 'away')
      await completesWithin(this.#deps.clock, legAdmissionMsMax, this.#nextLink.promise);
    return this.#stage === 'linked';
  }

  #left(leg: RemoteLeg): void {
    this.#open.delete(leg);
    this.#byNumber.delete(leg.number);
    if (leg.hasUnconfirmedEnd) this.#ended.add(leg);
    for (const oldest of this.#ended) {
      if (oldest.hasUnconfirmedEnd) return;
      this.#ended.delete(oldest);
    }
  }

  #close(leg: RemoteLeg, reason: LegCloseReason): void {
    this.#left(leg);
    leg.close(reason);
  }

  /** The server may have a newer key than this end, so it is asked, but at a limited rate, since strangers can trigger it. */
  #mayAskOfKey(): boolean {
    return acquireTokens(this.#keyAsks, keyAsks, this.#deps.clock.monotonicMs()) === 0;
  }

  async #ask<Kind extends AdmittedLeg['kind']>(
    kind: Kind,
    messageOf: (question: number) => MediaMessage,
  ): Promise<Result<AdmissionOf<Kind>, AdmissionRefusal>> {
    if (!(await this.#isLinkedInTime())) return fail('unavailable');
    if (this.#questions.size >= linkQuestionsMax || this.#deps.isCongested()) return fail('busy');
    const answer = await this.#question(messageOf);
    if (answer?.kind === 'refused') return fail(answer.refusal);
    if (answer?.kind === 'elsewhere') return fail(answer.call);
    if (answer?.kind !== 'admitted' || answer.admitted.kind !== kind) return fail('unavailable');
    const { leg: number, admitted } = answer;
    this.#grants.set(admitted.admission, { number, admitted });
    return succeed(admitted.admission as AdmissionOf<Kind>);
  }

  async #question(messageOf: (question: number) => MediaMessage): Promise<LegServiceAnswer | null> {
    const answer = await this.#questions.ask('leg', legAdmissionMsMax, (question) => {
      this.#deps.send(messageOf(question));
      return true;
    });
    return answer.ok ? answer.value : null;
  }

  #openLeg(admission: object, leg: CallLeg): RemoteLeg | null {
    const grant = this.#grants.get(admission);
    if (grant === undefined || this.#stage !== 'linked') return null;
    this.#grants.delete(admission);
    const opened = new RemoteLeg(this.#legDeps, grant.number, grant.admitted, leg);
    this.#open.add(opened);
    this.#byNumber.set(opened.number, opened);
    return opened;
  }
}

/** Legs with calls come first, so that a call that has its legs is not offered to an idle bridge. */
function rankOf(brought: BroughtLeg): number {
  return brought.sessionId === null ? 1 : 0;
}

function cut(text: string): string {
  return text.slice(0, legRequestBytesMax);
}
