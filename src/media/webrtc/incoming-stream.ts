/**
 * One stream of a client: the packets of one source at a time, in order, and the feedback about them. Another source replaces the
 * current one after silence or BYE. Source: RFC 3550, 6.6 and 8.
 */
import { acquireTokens, fullBucket, type TokenBucket } from '../../lib/token-bucket.ts';
import { rtcReorderMsMax, rtcSourceRateMax, rtcSourceSilenceMs } from '../../model/media/rtc-limits.ts';
import {
  encodeBitrateMax,
  encodeNack,
  encodePictureLost,
  type ReportBlock,
  type SenderReport,
} from '../../protocol/rtp/rtcp.ts';
import type { RtpPacket } from '../../protocol/rtp/rtp-packet.ts';
import { Reception, StreamClock } from './reception.ts';
import { ReorderWindow, type InOrder } from './reorder-window.ts';

export interface PacketSink {
  readonly clock: StreamClock;
  push(item: InOrder, nowMs: number): void;
  /** Time has passed, and no missing packet is awaited. */
  tick?(nowMs: number): void;
  /** No packet follows. */
  close?(): void;
}

interface Source {
  readonly ssrc: number;
  readonly window: ReorderWindow;
  readonly reception: Reception;
  readonly sink: PacketSink;
  lastMs: number;
  hasLeft: boolean;
  report: SenderReport | null;
}

export interface IncomingStreamDeps {
  readonly kind: 'audio' | 'video';
  readonly clockRate: number;
  /** SSRC of this server in its feedback. */
  readonly ownSsrc: number;
  /** Called for each source. `isJoinedLate`: earlier packets of it were dropped. */
  readonly makeSink: (isJoinedLate: boolean) => PacketSink;
}

export class IncomingStream {
  readonly #deps: IncomingStreamDeps;
  #source: Source | null = null;
  /** Created full with the first source. */
  #sources: TokenBucket | null = null;
  /** The source whose packet was dropped last because another one is current. */
  #rejected: number | null = null;

  constructor(deps: IncomingStreamDeps) {
    this.#deps = deps;
  }

  push(packet: RtpPacket, nowMs: number): void {
    const source = this.#sourceOf(packet, nowMs);
    if (source === null) return;
    source.lastMs = nowMs;
    source.reception.recordPacket(packet, nowMs);
    for (const item of source.window.push(packet, nowMs)) source.sink.push(item, nowMs);
  }

  /** Sources that sent BYE. Their packets are accepted until another source arrives. */
  leave(ssrcs: readonly number[]): void {
    if (this.#source !== null && ssrcs.includes(this.#source.ssrc)) this.#source.hasLeft = true;
  }

  recordSenderReport(report: SenderReport, nowMs: number): void {
    if (this.#source?.ssrc !== report.ssrc) return;
    this.#source.reception.recordSenderReport(report, nowMs);
    this.#source.report = report;
  }

  /** Its time minus the client's clock in milliseconds, by the last report. Null: there is none, or it has no time. */
  get aheadMs(): number | null {
    const { report = null, sink } = this.#source ?? {};
    const atMs = report === null ? null : (sink?.clock.find(report.timestamp) ?? null);
    if (report === null || atMs === null || report.ntpSeconds === 0) return null;
    return atMs - (report.ntpSeconds + report.ntpFraction / 2 ** 32) * 1000;
  }

  move(byMs: number): void {
    this.#source?.sink.clock.move(byMs);
  }

  /** Gives up packets that are overdue; returns the feedback to send now, null: none. */
  tick(nowMs: number): Buffer | null {
    const source = this.#source;
    if (source === null) return null;
    for (const item of source.window.tick(nowMs)) source.sink.push(item, nowMs);
    if (!source.window.isWaiting) source.sink.tick?.(nowMs);
    const missing = this.#deps.kind === 'video' ? source.window.ask(nowMs) : [];
    return missing.length === 0 ? null : encodeNack(this.#deps.ownSsrc, source.ssrc, missing);
  }

  /** Null: no packet yet. */
  report(nowMs: number): ReportBlock | null {
    return this.#source?.reception.report(nowMs) ?? null;
  }

  /** Null: no source to ask. */
  pictureLost(): Buffer | null {
    return this.#source === null ? null : encodePictureLost(this.#deps.ownSsrc, this.#source.ssrc);
  }

  bitrateMax(bitsPerSecond: number): Buffer | null {
    return this.#source === null
      ? null
      : encodeBitrateMax(this.#deps.ownSsrc, this.#source.ssrc, bitsPerSecond);
  }

  /** Null: the packet belongs to another source. */
  #sourceOf({ ssrc, payload }: RtpPacket, nowMs: number): Source | null {
    const source = this.#source;
    if (source?.ssrc === ssrc) return source;
    // Padding alone does not begin a source.
    if (payload.length === 0) return null;
    const isFree = source === null || source.hasLeft || nowMs - source.lastMs >= rtcSourceSilenceMs;
    this.#sources ??= fullBucket(rtcSourceRateMax, nowMs);
    if (isFree && acquireTokens(this.#sources, rtcSourceRateMax, nowMs) === 0)
      return this.#begin(ssrc, nowMs);
    this.#rejected = ssrc;
    return null;
  }

  #begin(ssrc: number, nowMs: number): Source {
    const { kind, clockRate, makeSink } = this.#deps;
    this.#source?.sink.close?.();
    this.#source = {
      ssrc,
      window: new ReorderWindow(rtcReorderMsMax[kind]),
      reception: new Reception(ssrc, clockRate),
      sink: makeSink(this.#rejected === ssrc),
      lastMs: nowMs,
      hasLeft: false,
      report: null,
    };
    return this.#source;
  }
}

export class SoundSink implements PacketSink {
  readonly clock: StreamClock;
  readonly #deliver: (payload: Uint8Array<ArrayBuffer>, timestampMs: number) => void;

  constructor(clockRate: number, deliver: (payload: Uint8Array<ArrayBuffer>, timestampMs: number) => void) {
    this.clock = new StreamClock(clockRate);
    this.#deliver = deliver;
  }

  push(item: InOrder, nowMs: number): void {
    if (item === 'lost' || item.payload.length === 0) return;
    this.#deliver(new Uint8Array(item.payload), this.clock.toMs(item.timestamp, nowMs));
  }
}
