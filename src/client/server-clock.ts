/**
 * The time to sign with: this machine's, corrected by what the server said of its own when it refused ours. A wall
 * clock that is set right later is noticed in the same way.
 */
import type { Clock } from '../lib/clock.ts';
import type { FailureCode } from '../model/codes.ts';
import { serverTimeOf } from '../protocol/tgv1/auth-failure.ts';
import type { ApiResult } from './api-result.ts';

/** An answer that claims more is not believed: nobody gets a signature of ours for a day that is far away. */
const skewMsMax = 24 * 3600 * 1000;

export class ServerClock {
  readonly #clock: Clock;
  #aheadMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wallMs(): number {
    return this.#clock.wallMs() + this.#aheadMs;
  }

  /** How far the server's clock is ahead of ours, as far as we know: 0 until it said so. */
  get aheadMs(): number {
    return this.#aheadMs;
  }

  /** True when the answer refuses our time and says its own: the same may be signed again. */
  learn(result: ApiResult<unknown, FailureCode>): boolean {
    if (result.ok || result.code !== 40105) return false;
    const serverMs = serverTimeOf(result.message);
    if (serverMs === null) return false;
    const aheadMs = serverMs - this.#clock.wallMs();
    if (Math.abs(aheadMs) > skewMsMax) return false;
    this.#aheadMs = aheadMs;
    return true;
  }
}
