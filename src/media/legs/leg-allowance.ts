/**
 * The rate limits of one leg: messages of any kind, texts among them, and bytes. Each leg has its own, so a flood costs
 * its sender the leg and nobody else anything. The rates are in model/limits.ts, with their reasons.
 */
import { fullBucket, takeToken, waitForToken, type Rate, type TokenBucket } from '../../lib/token-bucket.ts';
import {
  legBytesBurstMax,
  legBytesPerSecondMax,
  legMessagesBurstMax,
  legMessagesPerSecondMax,
  legTextsBurstMax,
  legTextsPerSecondMax,
} from '../../model/limits.ts';

const messages: Rate = { perSecond: legMessagesPerSecondMax, burst: legMessagesBurstMax };
const texts: Rate = { perSecond: legTextsPerSecondMax, burst: legTextsBurstMax };
const bytes: Rate = { perSecond: legBytesPerSecondMax, burst: legBytesBurstMax };

export class LegAllowance {
  readonly #messages: TokenBucket;
  readonly #texts: TokenBucket;
  readonly #bytes: TokenBucket;
  #bytesRead = 0;

  constructor(nowMs: number) {
    this.#messages = fullBucket(messages, nowMs);
    this.#texts = fullBucket(texts, nowMs);
    this.#bytes = fullBucket(bytes, nowMs);
  }

  /**
   * One more message has come. `bytesRead`: off the wire, since the leg is there, headers and fragments included.
   * Null: it may. Else what it sends too much of, in a sentence for it.
   */
  take(isText: boolean, bytesRead: number, nowMs: number): string | null {
    if (isUsedUp(this.#messages, messages, nowMs)) return tooMany('messages', messages);
    if (isText && isUsedUp(this.#texts, texts, nowMs)) return tooMany('texts', texts);
    if (isUsedUp(this.#bytes, bytes, nowMs)) return tooMany('bytes', bytes);
    takeToken(this.#messages);
    if (isText) takeToken(this.#texts);
    takeToken(this.#bytes, bytesRead - this.#bytesRead);
    this.#bytesRead = bytesRead;
    return null;
  }
}

function isUsedUp(bucket: TokenBucket, rate: Rate, nowMs: number): boolean {
  return waitForToken(bucket, rate, nowMs) > 0;
}

function tooMany(what: string, { perSecond, burst }: Rate): string {
  return `a leg sends ${perSecond} ${what} a second at most, and ${burst} at once`;
}
