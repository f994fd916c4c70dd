/** The limits of one client: rates of packets of RTP and RTCP, of messages of data channels and of the bytes of both, and its sources. Their figures are in model/media/rtc-limits.ts. */
import { fullBucket, takeToken, waitForToken, type Rate, type TokenBucket } from '../../lib/token-bucket.ts';
import {
  rtcBytesBurstMax,
  rtcBytesPerSecondMax,
  rtcMessagesBurstMax,
  rtcMessagesPerSecondMax,
  rtcPacketsBurstMax,
  rtcPacketsPerSecondMax,
  rtcSourcesMax,
} from '../../model/media/rtc-limits.ts';

const rates = {
  packet: { perSecond: rtcPacketsPerSecondMax, burst: rtcPacketsBurstMax },
  message: { perSecond: rtcMessagesPerSecondMax, burst: rtcMessagesBurstMax },
  byte: { perSecond: rtcBytesPerSecondMax, burst: rtcBytesBurstMax },
} as const satisfies Record<string, Rate>;

export class ClientAllowance {
  readonly #buckets: Readonly<Record<keyof typeof rates, TokenBucket>>;
  readonly #sources = new Set<number>();

  constructor(nowMs: number) {
    this.#buckets = {
      packet: fullBucket(rates.packet, nowMs),
      message: fullBucket(rates.message, nowMs),
      byte: fullBucket(rates.byte, nowMs),
    };
  }

  /** `source`: the SSRC of a packet. Null: it is allowed; else a sentence that names the limit. */
  acquire(kind: 'packet' | 'message', bytes: number, nowMs: number, source?: number): string | null {
    for (const what of [kind, 'byte'] as const) {
      const { perSecond, burst } = rates[what];
      if (waitForToken(this.#buckets[what], rates[what], nowMs) > 0)
        return `a client sends ${perSecond} ${what}s a second at most, and ${burst} at once`;
    }
    takeToken(this.#buckets[kind]);
    takeToken(this.#buckets.byte, bytes);
    if (source !== undefined) this.#sources.add(source);
    return this.#sources.size > rtcSourcesMax ? `a client has ${rtcSourcesMax} sources at most` : null;
  }
}
