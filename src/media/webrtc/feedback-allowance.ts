/**
 * Limits of RTCP, so that feedback costs no more than it makes this server send: packets read, and video packets sent again, of one
 * client and of all. Feedback beyond a limit is ignored, and no client is closed for it: it repeats what still matters. The rates are in
 * model/media/rtc-limits.ts.
 */
import { acquireTokens, fullBucket, spendTokens, TurnBudget, waitForToken } from '../../lib/token-bucket.ts';
import {
  rtcFeedbackRateMax,
  rtcFeedbackPerTurnMax,
  rtcResendBytesBurstMax,
  rtcResendByteRateOfAllMax,
  rtcResendShare,
} from '../../model/media/rtc-limits.ts';

export class SharedFeedback {
  readonly #turn = new TurnBudget(rtcFeedbackPerTurnMax);
  readonly #resends;

  constructor(nowMs: number) {
    this.#resends = fullBucket(rtcResendByteRateOfAllMax, nowMs);
  }

  /** False: this turn of the event loop has read its maximum. */
  acquirePacket(): boolean {
    return this.#turn.spend();
  }

  acquireResend(bytes: number, nowMs: number): boolean {
    return acquireTokens(this.#resends, rtcResendByteRateOfAllMax, nowMs, bytes) === 0;
  }
}

export class FeedbackAllowance {
  readonly #shared: SharedFeedback;
  readonly #packets;
  /** Bytes that may be sent again: a share of those sent. */
  #resendBytes = rtcResendBytesBurstMax;

  constructor(shared: SharedFeedback, nowMs: number) {
    this.#shared = shared;
    this.#packets = fullBucket(rtcFeedbackRateMax, nowMs);
  }

  /** False: the packet is ignored. */
  acquirePacket(nowMs: number): boolean {
    if (waitForToken(this.#packets, rtcFeedbackRateMax, nowMs) > 0 || !this.#shared.acquirePacket())
      return false;
    spendTokens(this.#packets);
    return true;
  }

  recordSent(bytes: number): void {
    this.#resendBytes = Math.min(rtcResendBytesBurstMax, this.#resendBytes + bytes * rtcResendShare);
  }

  acquireResend(bytes: number, nowMs: number): boolean {
    if (this.#resendBytes < bytes || !this.#shared.acquireResend(bytes, nowMs)) return false;
    this.#resendBytes -= bytes;
    return true;
  }
}
