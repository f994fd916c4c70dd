/**
 * Rate limits of the WebRTC resources: requests and offers of one address, before the credential is checked, so that refused ones count;
 * offers of one call, and all offers, which only valid credentials reach. The rates are in model/media/rtc-limits.ts.
 */
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../lib/clock.ts';
import { addressKey } from '../../lib/connections/address-key.ts';
import { acquireTokens, fullBucket, type Rate, type TokenBucket } from '../../lib/token-bucket.ts';
import {
  rtcAddressOfferRateMax,
  rtcAddressRequestRateMax,
  rtcAllOfferRateMax,
  rtcOfferRateMax,
  rtcRatesKeptMax,
} from '../../model/media/rtc-limits.ts';

/** Each method returns the milliseconds until the next one is allowed; 0: it is allowed now, and counted. */
export class RtcRates {
  readonly #clock: Clock;
  readonly #isPerAddress: boolean;
  readonly #requestsOf = new KeyedRate(rtcAddressRequestRateMax);
  readonly #addressOffersOf = new KeyedRate(rtcAddressOfferRateMax);
  readonly #callOffersOf = new KeyedRate(rtcOfferRateMax);
  readonly #offers: TokenBucket;

  /** `isPerAddress`: false behind a proxy, where all clients have one address. */
  constructor(clock: Clock, isPerAddress: boolean) {
    this.#clock = clock;
    this.#isPerAddress = isPerAddress;
    this.#offers = fullBucket(rtcAllOfferRateMax, clock.monotonicMs());
  }

  countRequest(address: string, isOffer: boolean): number {
    if (!this.#isPerAddress) return 0;
    const nowMs = this.#clock.monotonicMs();
    const key = addressKey(address);
    const waitMs = this.#requestsOf.count(key, nowMs);
    return waitMs > 0 || !isOffer ? waitMs : this.#addressOffersOf.count(key, nowMs);
  }

  countOfferOfCall(key: string): number {
    return this.#callOffersOf.count(key, this.#clock.monotonicMs());
  }

  countOffer(): number {
    return acquireTokens(this.#offers, rtcAllOfferRateMax, this.#clock.monotonicMs());
  }
}

/** Keeps the most recent keys. */
class KeyedRate {
  readonly #rate: Rate;
  readonly #buckets = new LRUCache<string, TokenBucket>({ max: rtcRatesKeptMax });

  constructor(rate: Rate) {
    this.#rate = rate;
  }

  count(key: string, nowMs: number): number {
    const bucket = this.#buckets.get(key) ?? fullBucket(this.#rate, nowMs);
    this.#buckets.set(key, bucket);
    return acquireTokens(bucket, this.#rate, nowMs);
  }
}
