/**
 * The leg service as the media process has it, and the legs that are open at it: it checks tokens itself, and asks the
 * server for all else. A leg is open at once; if the server will not have it, a close follows, as at the end of its call.
 * An admitted leg goes by the number that the server gave, so that nothing is opened but what was granted. Source:
 * calls-and-media.md, Legs.
 */
import type { Clock } from '../../lib/clock.ts';
import { OpenAsks } from '../../lib/link/open-asks.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { acquireTokens, fullBucket, type Rate, type TokenBucket } from '../../lib/token-bucket.ts';
import { checkCallToken } from '../../protocol/call-token/call-token.ts';
import type { TokenKeys } from '../../protocol/call-token/token-keys.ts';
import { legAdmissionMsMax, legRequestBytesMax, linkQuestionsMax } from '../../model/limits.ts';
import type { AdmittedLeg, MediaMessage, ServerMessage } from '../../protocol/media-link/link-message.ts';
import type {
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
  /** The server does not read as fast as this end sends. */
  isCongested(): boolean;
  /** Null: the server has not sent them yet. */
  keys(): TokenKeys | null;
}

/** From the server to it. */
type LegServiceMessage = Extract<
  ServerMessage,
  { readonly kind: 'admitted' | 'refused' | 'elsewhere' | 'heard' | 'tell' | 'close' }
>;
interface Admissions {
  readonly device: DeviceAdmission;
  readonly bridge: BridgeAdmission;
  readonly viewer: ViewerAdmission;
}
type LegServiceAnswer = Exclude<LegServiceMessage, { readonly kind: 'tell' | 'close' }>;

/** Questions about tokens of keys that this end does not know; beyond them such a token is answered 503. */
const keyAsks: Rate = { perSecond: 20, burst: 100 };

export class RemoteLegService implements LegService {
  readonly #deps: RemoteLegServiceDeps;
  readonly #questions: OpenAsks<{ readonly leg: LegServiceAnswer }, 'unanswered'>;
  /** By the very object that was handed out, until it is used. */
  readonly #grants = new WeakMap<object, number>();
  readonly #legs: RemoteLegDeps;
  readonly #keyAsks: TokenBucket;
  #isOver = false;

  constructor(deps: RemoteLegServiceDeps) {
    const { clock } = deps;
    this.#deps = deps;
    this.#keyAsks = fullBucket(keyAsks, clock.monotonicMs());
    this.#questions = new OpenAsks(clock, {
      max: linkQuestionsMax,
      unsent: 'unanswered',
      expired: () => 'unanswered',
    });
    this.#legs = { ...deps, legs: new Map(), waiting: new Set() };
  }

  async heard(): Promise<void> {
    if (!this.#isOver) await this.#question((question) => ({ kind: 'ask-heard', question }));
  }

  async admitDevice(token: string): Promise<Result<DeviceAdmission, AdmissionRefusal>> {
    const keys = this.#deps.keys();
    if (keys === null) return fail('unavailable');
    const checked = await checkCallToken(keys, token);
    if (!checked.ok && checked.error !== 'unknown_key') return checked;
    if (!checked.ok && !this.#mayAskOfKey()) return fail('busy');
    return this.#ask('device', (question) => ({ kind: 'admit-device', question, token }));
  }

  /** A text longer than a request can be is cut: it is nobody's key, and no session. */
  admitBridge(key: string, sessionId: string | null): Promise<Result<BridgeAdmission, AdmissionRefusal>> {
    const shown = { key: cut(key), sessionId: sessionId === null ? null : cut(sessionId) };
    return this.#ask('bridge', (question) => ({ kind: 'admit-bridge', question, ...shown }));
  }

  admitViewer(ticket: string): Promise<Result<ViewerAdmission, AdmissionRefusal>> {
    return this.#ask('viewer', (question) => ({ kind: 'admit-viewer', question, ticket: cut(ticket) }));
  }

  /** An admission opens one leg: with another one of it, it is null. */
  openDeviceLeg(admission: DeviceAdmission, leg: CallLeg): OpenDeviceLeg | null {
    return this.#open(admission, leg);
  }

  openBridgeLeg(admission: BridgeAdmission, leg: CallLeg): OpenBridgeLeg | null {
    return this.#open(admission, leg);
  }

  openViewer(admission: ViewerAdmission, leg: CallLeg): OpenViewer | null {
    return this.#open(admission, leg);
  }

  received(message: LegServiceMessage): void {
    switch (message.kind) {
      case 'tell':
        this.#legs.legs.get(message.leg)?.leg.notify(message.message);
        return;
      case 'close': {
        const closed = this.#legs.legs.get(message.leg);
        this.#legs.legs.delete(message.leg);
        closed?.leg.close(message.reason);
        return;
      }
      default:
        this.#questions.answered(message.question, 'leg', message);
    }
  }

  /** The server reads again: legs send what they had to keep, until it reads no more. */
  linkDrained(): void {
    for (const leg of this.#legs.waiting) {
      if (!leg.catchUp()) return;
      this.#legs.waiting.delete(leg);
    }
  }

  /** The server is gone: so are the legs, and nobody is let in any more. */
  linkEnded(): void {
    this.#isOver = true;
    this.#questions.failAll();
    this.#legs.waiting.clear();
    for (const [number, { leg }] of this.#legs.legs) {
      this.#legs.legs.delete(number);
      leg.close('drain');
    }
  }

  /** The server has a new key before this end: it is asked, but not by strangers as often as they like. */
  #mayAskOfKey(): boolean {
    return acquireTokens(this.#keyAsks, keyAsks, this.#deps.clock.monotonicMs()) === 0;
  }

  async #ask<Kind extends keyof Admissions>(
    kind: Kind,
    messageOf: (question: number) => MediaMessage,
  ): Promise<Result<Admissions[Kind], AdmissionRefusal>> {
    if (this.#questions.size >= linkQuestionsMax || this.#deps.isCongested()) return fail('busy');
    if (this.#isOver) return fail('unavailable');
    const answer = await this.#question(messageOf);
    if (answer?.kind === 'refused') return fail(answer.refusal);
    if (answer?.kind === 'elsewhere') return fail(answer.call);
    if (answer?.kind !== 'admitted' || !isOf(answer.admitted, kind)) return fail('unavailable');
    const { admission } = answer.admitted;
    this.#grants.set(admission, answer.leg);
    return succeed(admission);
  }

  /** Null: no answer came in time. */
  async #question(messageOf: (question: number) => MediaMessage): Promise<LegServiceAnswer | null> {
    const answer = await this.#questions.ask('leg', legAdmissionMsMax, (question) => {
      this.#deps.send(messageOf(question));
      return true;
    });
    return answer.ok ? answer.value : null;
  }

  #open(admission: object, leg: CallLeg): RemoteLeg | null {
    const number = this.#grants.get(admission);
    if (number === undefined || this.#isOver) return null;
    this.#grants.delete(admission);
    return new RemoteLeg(this.#legs, number, leg);
  }
}

function cut(text: string): string {
  return text.slice(0, legRequestBytesMax);
}

function isOf<Kind extends keyof Admissions>(
  admitted: AdmittedLeg,
  kind: Kind,
): admitted is AdmittedLeg & { readonly admission: Admissions[Kind] } {
  return admitted.kind === kind;
}
