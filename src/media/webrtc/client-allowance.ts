/** The rate limits of one client: packets of RTP and RTCP, messages of data channels, and bytes of both. The rates are in model/media/rtc-limits.ts. */
import { fullBucket, takeToken, waitForToken, type Rate, type TokenBucket } from '../../lib/token-bucket.ts';
import {
  rtcBytesBurstMax,
  rtcBytesPerSecondMax,
  rtcMessagesBurstMax,
  rtcMessagesPerSecondMax,
  rtcPacketsBurstMax,
  rtcPacketsPerSecondMax,
} from '../../model/media/rtc-limits.ts';

const rates = {
  packet: { perSecond: rtcPacketsPerSecondMax, burst: rtcPacketsBurstMax },
  message: { perSecond: rtcMessagesPerSecondMax, burst: rtcMessagesBurstMax },
  byte: { perSecond: rtcBytesPerSecondMax, burst: rtcBytesBurstMax },
} as const satisfies Record<string, Rate>;

export class ClientAllowance {
  readonly #buckets: Readonly<Record<keyof typeof rates, TokenBucket>>;

  constructor(nowMs: number) {
    this.#buckets = {
      packet: fullBucket(rates.packet, nowMs),
      message: fullBucket(rates.message, nowMs),
      byte: fullBucket(rates.byte, nowMs),
    };
  }

  /** Null: it may. Else what it sends too much of, in a sentence. */
  take(kind: 'packet' | 'message', bytes: number, nowMs: number): string | null {
    for (const what of [kind, 'byte'] as const) {
      const { perSecond, burst } = rates[what];
      if (waitForToken(this.#buckets[what], rates[what], nowMs) > 0)
        return `a client sends ${perSecond} ${what}s a second at most, and ${burst} at once`;
    }
    takeToken(this.#buckets[kind]);
    takeToken(this.#buckets.byte, bytes);
    return null;
  }
}
