/**
 * One stream of a client: its packets in order, and what there is to tell the client about them. A stream that goes on
 * under another source begins anew. Video comes as whole access units: after a loss none is handed on before the next key
 * frame, which is asked for.
 */
import { keyFrameAskMsMin, mediaMessageBytesMax } from '../../model/limits.ts';
import { acquireTokens, fullBucket, type Rate, type TokenBucket } from '../../lib/token-bucket.ts';
import { rtcReorderMsMax, rtcSourcesBurstMax, rtcSourcesPerSecondMax } from '../../model/media/rtc-limits.ts';
import { H264Assembler } from '../../protocol/rtp/h264-payload.ts';
import {
  encodeBitrateMax,
  encodeNack,
  encodePictureLost,
  type ReportBlock,
  type SenderReport,
} from '../../protocol/rtp/rtcp.ts';
import type { RtpPacket } from '../../protocol/rtp/rtp-packet.ts';
import { h264 } from '../geometry/h264-stream.ts';
import { describeCodedFrame } from '../geometry/nal-units.ts';
import { Reception, StreamClock } from './reception.ts';
import { ReorderWindow, type InOrder } from './reorder-window.ts';

/** What is done with the packets of one source, in order. */
interface PacketSink {
  readonly clock: StreamClock;
  take(item: InOrder, nowMs: number): void;
}

interface Source {
  readonly ssrc: number;
  readonly window: ReorderWindow;
  readonly reception: Reception;
  readonly sink: PacketSink;
  /** The last; null: none came. */
  report: SenderReport | null;
}

export interface IncomingStreamDeps {
  readonly kind: 'audio' | 'video';
  readonly clockRate: number;
  /** Of this server, in its feedback. */
  readonly ownSsrc: number;
  /** For each source anew. */
  readonly makeSink: () => PacketSink;
}

const sourceRate: Rate = { perSecond: rtcSourcesPerSecondMax, burst: rtcSourcesBurstMax };

export class IncomingStream {
  readonly #deps: IncomingStreamDeps;
  #source: Source | null = null;
  /** Full when the first source comes. */
  #sources: TokenBucket | null = null;

  constructor(deps: IncomingStreamDeps) {
    this.#deps = deps;
  }

  take(packet: RtpPacket, nowMs: number): void {
    const source = this.#source?.ssrc === packet.ssrc ? this.#source : this.#begin(packet.ssrc, nowMs);
    if (source === null) return;
    source.reception.took(packet, nowMs);
    for (const item of source.window.push(packet, nowMs)) source.sink.take(item, nowMs);
  }

  reportCame(report: SenderReport, nowMs: number): void {
    if (this.#source?.ssrc !== report.ssrc) return;
    this.#source.reception.reportCame(report, nowMs);
    this.#source.report = report;
  }

  /** Its milliseconds less those of the client's clock, by the last report. Null: there is none, or it tells no time. */
  get aheadMs(): number | null {
    const { report = null, sink } = this.#source ?? {};
    const atMs = report === null ? null : (sink?.clock.find(report.timestamp) ?? null);
    if (report === null || atMs === null || report.ntpSeconds === 0) return null;
    return atMs - (report.ntpSeconds + report.ntpFraction / 2 ** 32) * 1000;
  }

  /** Its times are to be later by so much. */
  move(byMs: number): void {
    this.#source?.sink.clock.move(byMs);
  }

  /** Gives up what was waited for; the feedback to send now, null: none. */
  tick(nowMs: number): Buffer | null {
    const source = this.#source;
    if (source === null) return null;
    for (const item of source.window.tick(nowMs)) source.sink.take(item, nowMs);
    const missing = this.#deps.kind === 'video' ? source.window.ask(nowMs) : [];
    return missing.length === 0 ? null : encodeNack(this.#deps.ownSsrc, source.ssrc, missing);
  }

  /** Null: nothing came. */
  report(nowMs: number): ReportBlock | null {
    return this.#source?.reception.report(nowMs) ?? null;
  }

  /** Null: there is no source to ask. */
  pictureLost(): Buffer | null {
    return this.#source === null ? null : encodePictureLost(this.#deps.ownSsrc, this.#source.ssrc);
  }

  bitrateMax(bitsPerSecond: number): Buffer | null {
    return this.#source === null
      ? null
      : encodeBitrateMax(this.#deps.ownSsrc, this.#source.ssrc, bitsPerSecond);
  }

  /** Null: its source changes too often. */
  #begin(ssrc: number, nowMs: number): Source | null {
    this.#sources ??= fullBucket(sourceRate, nowMs);
    if (acquireTokens(this.#sources, sourceRate, nowMs) > 0) return null;
    const { kind, clockRate, makeSink } = this.#deps;
    const window = new ReorderWindow(rtcReorderMsMax[kind]);
    const reception = new Reception(ssrc, clockRate);
    const source = { ssrc, window, reception, sink: makeSink(), report: null };
    this.#source = source;
    return source;
  }
}

/** Sound: each packet is one frame. */
export class SoundSink implements PacketSink {
  readonly clock: StreamClock;
  readonly #deliver: (payload: Uint8Array<ArrayBuffer>, timestampMs: number) => void;

  constructor(clockRate: number, deliver: (payload: Uint8Array<ArrayBuffer>, timestampMs: number) => void) {
    this.clock = new StreamClock(clockRate);
    this.#deliver = deliver;
  }

  take(item: InOrder, nowMs: number): void {
    if (item === 'lost' || item.payload.length === 0) return;
    this.#deliver(new Uint8Array(item.payload), this.clock.toMs(item.timestamp, nowMs));
  }
}

export interface VideoSinkOwner {
  video(accessUnit: Uint8Array<ArrayBuffer>, isKey: boolean, timestampMs: number): void;
  /** Nothing can be shown before the next key frame. Comes no oftener than key frames are asked for. */
  pictureLost(): void;
}

export class VideoSink implements PacketSink {
  readonly #owner: VideoSinkOwner;
  readonly clock: StreamClock;
  readonly #assembler = new H264Assembler(mediaMessageBytesMax);
  /** Of the access unit that is gathered. */
  #timestamp: number | null = null;
  #waitsForKey = true;
  /** A packet of the one that is gathered is missing. */
  #isBroken = false;
  #askedMs = -Infinity;

  constructor(clockRate: number, owner: VideoSinkOwner) {
    this.clock = new StreamClock(clockRate);
    this.#owner = owner;
  }

  take(item: InOrder, nowMs: number): void {
    if (item === 'lost') {
      this.#isBroken = true;
      this.#lost(nowMs);
      return;
    }
    if (item.payload.length === 0) return;
    // The end of the one before was not marked, or was lost.
    if (this.#timestamp !== null && this.#timestamp !== item.timestamp) this.#finish(nowMs);
    this.#timestamp = item.timestamp;
    this.#assembler.push(item.payload);
    if (item.marker) this.#finish(nowMs);
  }

  #finish(nowMs: number): void {
    const accessUnit = this.#assembler.take();
    const timestampMs = this.clock.toMs(this.#timestamp ?? 0, nowMs);
    const isWhole = accessUnit !== null && !this.#isBroken;
    this.#timestamp = null;
    this.#isBroken = false;
    if (!isWhole) {
      this.#lost(nowMs);
      return;
    }
    const { content, hasKey } = describeCodedFrame(accessUnit, h264);
    if (hasKey) this.#waitsForKey = false;
    if (this.#waitsForKey && content !== 'parameters') this.#lost(nowMs);
    else this.#owner.video(accessUnit, hasKey, timestampMs);
  }

  #lost(nowMs: number): void {
    this.#waitsForKey = true;
    if (nowMs - this.#askedMs < keyFrameAskMsMin) return;
    this.#askedMs = nowMs;
    this.#owner.pictureLost();
  }
}
