/**
 * Issuances that are known by their signatures, so that an intercepted one opens no call: with them their answers, and
 * the session that each is for. Kept by the member that keeps the device's calls; nodes tell each other, since another
 * may keep the device's next one. Source: tgv1-signing.md, Replay; calls-and-media.md, Credential issuance.
 */
import type { Clock } from '../../lib/clock.ts';
import { succeed, type Result } from '../../lib/result.ts';
import type { CallCredentialsCode, Refusal } from '../../model/codes.ts';
import type { SessionId } from '../../model/ids.ts';
import { issuancesKnownMax } from '../../model/limits.ts';
import type { PeerNotice } from '../../model/peer.ts';
import type { SignedRequest } from '../../model/signed-request.ts';
import type { CallCredentials } from '../../protocol/rest/call-credentials.ts';
import { AnswerMemory } from '../messages/answer-memory.ts';

export interface IssuedCall extends CallCredentials {
  readonly sessionId: SessionId;
}

export type IssuedAnswer = Result<IssuedCall, Refusal<CallCredentialsCode>>;

export type CallIssued = Extract<PeerNotice, { kind: 'call-issued' }>;

export class IssuedCalls {
  readonly #answers: AnswerMemory<IssuedAnswer>;
  readonly #notifyOthers: (issued: CallIssued) => void;

  /** `tellOthers`: brings it to the members that may be asked for a repeat of it; must not throw. */
  constructor(clock: Clock, notifyOthers: (issued: CallIssued) => void, knownMax = issuancesKnownMax) {
    this.#answers = new AnswerMemory(clock, knownMax);
    this.#notifyOthers = notifyOthers;
  }

  /** When true the answer is 42901, and nothing known is forgotten. */
  get isFull(): boolean {
    return this.#answers.isFull;
  }

  /** The answer of the issuance this one repeats, or null when it is to be done. */
  repeated(request: SignedRequest): IssuedAnswer | Promise<IssuedAnswer> | null {
    return this.#answers.repeated(request);
  }

  /** From now on a repeat joins it; others are told before who asked is. */
  begin(request: SignedRequest, answer: Promise<IssuedAnswer>): void {
    this.#answers.begin(request, answer);
    const { signature, signatureExpiresMs } = request;
    const notify = (settled: IssuedAnswer): void => {
      if (settled.ok)
        this.#notifyOthers({ kind: 'call-issued', signature, signatureExpiresMs, ...settled.value });
    };
    answer.then(notify, () => undefined);
  }

  /** Another member has issued it. Taken in beyond the bound as well: that member has held to it. */
  noteIssued({ sessionId, peerId, token, ...request }: CallIssued): void {
    this.#answers.keep(request, succeed({ sessionId, peerId, token }));
  }
}
