/**
 * The limits of RTCP, so that feedback costs no more than what it makes this server send: packets that are read and packets
 * of video that are sent again, of one client and of all. What is beyond a limit is passed over, and nobody is closed for
 * it: a client repeats what still matters. The rates are in model/media/rtc-limits.ts.
 */
import { acquireTokens, fullBucket, spendTokens, TurnBudget, waitForToken } from '../../lib/token-bucket.ts';
import {
  rtcFeedbackRateMax,
  rtcFeedbackPerTurnMax,
  rtcResendBytesBurstMax,
  rtcResendByteRateOfAllMax,
  rtcResendShare,
} from '../../model/media/rtc-limits.ts';

/** The limits of all clients of this process together. */
export class SharedFeedback {
  readonly #turn = new TurnBudget(rtcFeedbackPerTurnMax);
  readonly #resends;

  constructor(nowMs: number) {
    this.#resends = fullBucket(rtcResendByteRateOfAllMax, nowMs);
  }

  /** False: this turn of the loop has read enough. */
  acquirePacket(): boolean {
    return this.#turn.spend();
  }

  acquireResend(bytes: number, nowMs: number): boolean {
    return acquireTokens(this.#resends, rtcResendByteRateOfAllMax, nowMs, bytes) === 0;
  }
}

/** The limits of one client. */
export class FeedbackAllowance {
  readonly #shared: SharedFeedback;
  readonly #packets;
  /** Bytes that may be sent again: a share of those that were sent. */
  #resendBytes = rtcResendBytesBurstMax;

  constructor(shared: SharedFeedback, nowMs: number) {
    this.#shared = shared;
    this.#packets = fullBucket(rtcFeedbackRateMax, nowMs);
  }

  /** False: a packet is passed over unread. */
  acquirePacket(nowMs: number): boolean {
    if (waitForToken(this.#packets, rtcFeedbackRateMax, nowMs) > 0 || !this.#shared.acquirePacket())
      return false;
    spendTokens(this.#packets);
    return true;
  }

  /** Video was sent for the first time. */
  recordSent(bytes: number): void {
    this.#resendBytes = Math.min(rtcResendBytesBurstMax, this.#resendBytes + bytes * rtcResendShare);
  }

  acquireResend(bytes: number, nowMs: number): boolean {
    if (this.#resendBytes < bytes || !this.#shared.acquireResend(bytes, nowMs)) return false;
    this.#resendBytes -= bytes;
    return true;
  }
}
