/**
 * One incoming stream as its receiver sees it: losses and jitter for the reports, and timestamps as milliseconds. Source: RFC 3550,
 * 6.4.1 and A.3, A.8.
 */
import { rtcAlignStepMsMax, rtcTimestampJumpMsMax } from '../../model/media/rtc-limits.ts';
import type { ReportBlock, SenderReport } from '../../protocol/rtp/rtcp.ts';
import { sequenceDistance, timestampDistance, type RtpPacket } from '../../protocol/rtp/rtp-packet.ts';

export class Reception {
  readonly #ssrc: number;
  readonly #clockRate: number;
  #firstSequence: number | null = null;
  /** Extended highest sequence number: its cycles are above 16 bits. */
  #highest = 0;
  #received = 0;
  #reported = { expected: 0, received: 0 };
  #jitter = 0;
  #transit: number | null = null;
  #lastReport = { middle: 0, atMs: 0 };

  constructor(ssrc: number, clockRate: number) {
    this.#ssrc = ssrc;
    this.#clockRate = clockRate;
  }

  recordPacket({ sequence, timestamp }: RtpPacket, nowMs: number): void {
    if (this.#firstSequence === null) {
      this.#firstSequence = sequence;
      this.#highest = sequence;
    } else this.#highest += Math.max(0, sequenceDistance(this.#highest & 0xffff, sequence));
    this.#received += 1;
    const transit = Math.round((nowMs * this.#clockRate) / 1000) - timestamp;
    if (this.#transit !== null) {
      const change = Math.abs(timestampDistance(this.#transit, transit));
      // After a clock reset the jitter cannot be computed.
      if (change < this.#clockRate * 10) this.#jitter += (change - this.#jitter) / 16;
    }
    this.#transit = transit;
  }

  recordSenderReport({ ntpSeconds, ntpFraction }: SenderReport, nowMs: number): void {
    this.#lastReport = { middle: ((ntpSeconds << 16) | (ntpFraction >>> 16)) >>> 0, atMs: nowMs };
  }

  /** Covers the time since the last report. */
  report(nowMs: number): ReportBlock {
    const expected = this.#firstSequence === null ? 0 : this.#highest - this.#firstSequence + 1;
    const received = this.#received;
    const expectedNow = expected - this.#reported.expected;
    const lostNow = expectedNow - (received - this.#reported.received);
    this.#reported = { expected, received };
    const { middle, atMs } = this.#lastReport;
    return {
      ssrc: this.#ssrc,
      fractionLost:
        expectedNow === 0 || lostNow <= 0 ? 0 : Math.min(255, Math.floor((lostNow * 256) / expectedNow)),
      lost: Math.min(0x7f_ff_ff, Math.max(-0x80_00_00, expected - received)),
      highestSequence: this.#highest >>> 0,
      jitter: Math.floor(this.#jitter),
      lastReport: middle,
      sinceLastReport: middle === 0 ? 0 : Math.round(((nowMs - atMs) * 65_536) / 1000) >>> 0,
    };
  }
}

/** Timestamps of a stream as milliseconds of this machine's clock: the first one is its arrival time. */
export class StreamClock {
  readonly #clockRate: number;
  #last: { readonly timestamp: number; readonly ms: number } | null = null;
  #owedMs = 0;

  constructor(clockRate: number) {
    this.#clockRate = clockRate;
  }

  /** A 32-bit result, as in frame headers. A timestamp that jumps too far restarts at its arrival time. */
  toMs(timestamp: number, nowMs: number): number {
    const expected = this.find(timestamp);
    const isJump = expected === null || Math.abs(expected - nowMs) > rtcTimestampJumpMsMax;
    const stepMs = Math.min(rtcAlignStepMsMax, Math.max(-rtcAlignStepMsMax, this.#owedMs));
    if (!isJump) this.#owedMs -= stepMs;
    const ms = isJump ? nowMs : expected + stepMs;
    this.#last = { timestamp, ms };
    return Math.round(ms) >>> 0;
  }

  /** The time of a timestamp, relative to the last one. Null: none yet. */
  find(timestamp: number): number | null {
    if (this.#last === null) return null;
    return this.#last.ms + (timestampDistance(this.#last.timestamp, timestamp) * 1000) / this.#clockRate;
  }

  /** Shifts later timestamps by `byMs`, in steps that keep time from going back. */
  move(byMs: number): void {
    this.#owedMs = byMs;
  }
}
