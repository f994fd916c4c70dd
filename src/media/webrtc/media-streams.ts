/**
 * The streams of one peer over its connection: what the client sends by RTP to frames, frames to what is sent to it, and
 * the reports and feedback of both. Source: RFC 3550, 6; RFC 4585; RFC 7587 (Opus); RFC 3551, 4.5.14 (PCMA).
 */
import type { Clock } from '../../lib/clock.ts';
import { rtcAlignMsMax, rtcPayloadBytesMax, rtcVideoBitrateMax } from '../../model/media/rtc-limits.ts';
import type { AudioFrameFormat } from '../../model/media/sound.ts';
import { packetizeH264 } from '../../protocol/rtp/h264-payload.ts';
import {
  decodeRtcp,
  encodeReceiverReport,
  encodeSourceName,
  type ReportBlock,
  type RtcpMessage,
} from '../../protocol/rtp/rtcp.ts';
import { decodeRtp, isRtcp } from '../../protocol/rtp/rtp-packet.ts';
import type { OfferedCodec } from '../../protocol/sdp/media-offer.ts';
import { splitNalUnits } from '../geometry/nal-units.ts';
import type { Agreement } from './agreement.ts';
import { FeedbackAllowance, type SharedFeedback } from './feedback-allowance.ts';
import { IncomingStream, SoundSink, VideoSink } from './incoming-stream.ts';
import type { RtcPeerOwner } from './rtc-peer.ts';
import { SendingRate } from './sending-rate.ts';
import { StreamSender } from './stream-sender.ts';
import { VideoPacer } from './video-pacer.ts';

export interface MediaStreamsDeps {
  readonly clock: Clock;
  readonly owner: RtcPeerOwner;
  /** CNAME. */
  readonly sourceName: string;
  readonly feedback: SharedFeedback;
  send(packet: Buffer): void;
}

export class MediaStreams {
  readonly #deps: MediaStreamsDeps;
  readonly #agreement: Agreement;
  readonly #audioDown: StreamSender;
  readonly #videoDown: StreamSender;
  readonly #incoming: ReadonlyMap<number, IncomingStream>;
  readonly #videoUp: IncomingStream | null;
  readonly #audioUp: IncomingStream | null;
  readonly #pacer: VideoPacer;
  readonly #rate: SendingRate;
  readonly #feedback: FeedbackAllowance;
  #videoBytes = 0;
  /** Bits of video per second between the last two reports. */
  #sentRate = 0;
  /** Wall time less the call's time, by which sound and pictures belong together at the client; null: nothing was sent. */
  #epochMs: number | null = null;
  #reportedMs: number;

  constructor(agreement: Agreement, deps: MediaStreamsDeps) {
    const nowMs = deps.clock.monotonicMs();
    this.#deps = deps;
    this.#agreement = agreement;
    this.#reportedMs = nowMs;
    this.#audioDown = new StreamSender(outgoing(agreement.audioDown), false);
    this.#videoDown = new StreamSender(outgoing(agreement.videoDown), true);
    this.#videoUp = this.#makeVideoUp(agreement.videoUp);
    this.#audioUp = this.#makeAudioUp(agreement.audioUp);
    this.#incoming = new Map([
      ...entryOf(agreement.videoUp, this.#videoUp),
      ...entryOf(agreement.audioUp, this.#audioUp),
    ]);
    this.#pacer = new VideoPacer((packet) => {
      this.#videoBytes += packet.length;
      this.#videoDown.sent(packet);
      deps.send(packet);
    }, nowMs);
    this.#feedback = new FeedbackAllowance(deps.feedback, nowMs);
    this.#rate = new SendingRate((bitsPerSecond) => deps.owner.bitrate(bitsPerSecond));
  }

  get ssrcs(): Readonly<Record<'audio' | 'video', number>> {
    return { audio: this.#audioDown.ssrc, video: this.#videoDown.ssrc };
  }

  take(bytes: Buffer): void {
    const nowMs = this.#deps.clock.monotonicMs();
    if (isRtcp(bytes)) {
      if (!this.#feedback.acquirePacket(nowMs)) return;
      for (const message of decodeRtcp(bytes)) this.#heard(message, nowMs);
      return;
    }
    const packet = decodeRtp(bytes);
    if (packet !== null) this.#incoming.get(packet.payloadType)?.take(packet, nowMs);
  }

  sendVideo(accessUnit: Uint8Array, timestampMs: number, sent: () => void): void {
    if (this.#agreement.videoDown === null) {
      sent();
      return;
    }
    this.#tellTime(timestampMs);
    const payloads = packetizeH264(splitNalUnits(accessUnit), rtcPayloadBytesMax);
    const packets = this.#videoDown.packets(payloads, timestampMs, true);
    for (const { length } of packets) this.#feedback.recordSent(length);
    this.#pacer.push(packets, sent, this.#deps.clock.monotonicMs());
  }

  /** One that does not fit into a packet is left out: none of 20 ms is so large. */
  sendAudio(payload: Uint8Array, timestampMs: number): void {
    if (this.#agreement.audioDown === null || payload.length > rtcPayloadBytesMax) return;
    this.#tellTime(timestampMs);
    for (const packet of this.#audioDown.packets([payload], timestampMs, false)) {
      this.#audioDown.sent(packet);
      this.#deps.send(packet);
    }
  }

  askKeyFrame(): void {
    const lost = this.#videoUp?.pictureLost() ?? null;
    if (lost !== null) this.#feedBack(lost);
  }

  tick(nowMs: number): void {
    this.#pacer.tick(nowMs);
    if (this.#feedback.acquireKeyFrame(nowMs)) this.#deps.owner.keyFrameWanted();
    for (const stream of this.#incoming.values()) {
      const feedback = stream.tick(nowMs);
      if (feedback !== null) this.#feedBack(feedback);
    }
    if (nowMs - this.#reportedMs >= this.#agreement.reportMs) this.#report(nowMs);
  }

  close(): void {
    this.#pacer.close();
  }

  #makeVideoUp(codec: OfferedCodec | null): IncomingStream | null {
    if (codec === null) return null;
    const { owner } = this.#deps;
    const sinkOwner = {
      video: owner.video.bind(owner),
      pictureLost: () => this.askKeyFrame(),
    };
    const { clockRate } = codec;
    const makeSink = () => new VideoSink(clockRate, sinkOwner);
    return new IncomingStream({ kind: 'video', clockRate, ownSsrc: this.#videoDown.ssrc, makeSink });
  }

  #makeAudioUp(codec: OfferedCodec | null): IncomingStream | null {
    if (codec === null) return null;
    const format: AudioFrameFormat = codec.name === 'opus' ? 'opus' : 'alaw';
    const { clockRate } = codec;
    const makeSink = () =>
      new SoundSink(clockRate, (payload, timestampMs) =>
        this.#deps.owner.audio(format, payload, timestampMs),
      );
    return new IncomingStream({ kind: 'audio', clockRate, ownSsrc: this.#audioDown.ssrc, makeSink });
  }

  #heard(message: RtcpMessage, nowMs: number): void {
    switch (message.kind) {
      case 'sender_report':
        for (const stream of this.#incoming.values()) stream.reportCame(message, nowMs);
        this.#align();
        this.#hearBlocks(message.blocks);
        break;
      case 'receiver_report':
        this.#hearBlocks(message.blocks);
        break;
      case 'nack':
        if (message.ssrc === this.#videoDown.ssrc) this.#sendAgain(message.sequences, nowMs);
        break;
      case 'picture_lost':
        if (message.ssrc === this.#videoDown.ssrc) this.#wantKeyFrame(nowMs);
        break;
      case 'full_intra':
        if (message.ssrcs.includes(this.#videoDown.ssrc)) this.#wantKeyFrame(nowMs);
        break;
      case 'bitrate_max':
        if (message.ssrcs.includes(this.#videoDown.ssrc)) this.#rate.said(message.bitsPerSecond);
        break;
    }
  }

  #sendAgain(sequences: readonly number[], nowMs: number): void {
    const missed = this.#videoDown.missed(sequences, nowMs, (bytes) =>
      this.#feedback.acquireResend(bytes, nowMs),
    );
    if (missed.length > 0) this.#pacer.pushAgain(missed, nowMs);
  }

  #wantKeyFrame(nowMs: number): void {
    this.#feedback.wantKeyFrame();
    if (this.#feedback.acquireKeyFrame(nowMs)) this.#deps.owner.keyFrameWanted();
  }

  /** Each stream counts from its first packet: pictures are moved to where the client's clock has them beside the sound. */
  #align(): void {
    const [seenMs, heardMs] = [this.#videoUp?.aheadMs ?? null, this.#audioUp?.aheadMs ?? null];
    if (seenMs === null || heardMs === null || Math.abs(heardMs - seenMs) > rtcAlignMsMax) return;
    this.#videoUp?.move(heardMs - seenMs);
  }

  #hearBlocks(blocks: readonly ReportBlock[]): void {
    for (const { ssrc, fractionLost } of blocks)
      if (ssrc === this.#videoDown.ssrc) this.#rate.reported(fractionLost / 256, this.#sentRate);
  }

  #report(nowMs: number): void {
    const seconds = (nowMs - this.#reportedMs) / 1000;
    this.#sentRate = (this.#videoBytes * 8) / seconds;
    this.#videoBytes = 0;
    this.#reportedMs = nowMs;
    const blocks = [...this.#incoming.values()].flatMap((stream) => stream.report(nowMs) ?? []);
    const wallMs = this.#deps.clock.wallMs();
    const timeMs = this.#epochMs === null ? 0 : wallMs - this.#epochMs;
    const senders = [this.#videoDown, this.#audioDown].filter(({ hasSent }) => hasSent);
    const reports = senders.map((sender, index) => sender.report(timeMs, wallMs, index === 0 ? blocks : []));
    if (senders.length === 0) reports.push(encodeReceiverReport({ ssrc: this.#videoDown.ssrc, blocks }));
    const bitrate = this.#videoUp?.bitrateMax(rtcVideoBitrateMax) ?? null;
    this.#deps.send(Buffer.concat([...reports, this.#name, ...(bitrate === null ? [] : [bitrate])]));
  }

  /** Feedback stands behind a report in a compound packet. */
  #feedBack(feedback: Buffer): void {
    const report = encodeReceiverReport({ ssrc: this.#videoDown.ssrc, blocks: [] });
    this.#deps.send(Buffer.concat([report, this.#name, feedback]));
  }

  get #name(): Buffer {
    return encodeSourceName(this.#videoDown.ssrc, this.#deps.sourceName);
  }

  #tellTime(timestampMs: number): void {
    this.#epochMs ??= this.#deps.clock.wallMs() - timestampMs;
  }
}

function entryOf(codec: OfferedCodec | null, stream: IncomingStream | null): [number, IncomingStream][] {
  return codec === null || stream === null ? [] : [[codec.payloadType, stream]];
}

/** What is not agreed is not sent. */
function outgoing(codec: OfferedCodec | null): { readonly payloadType: number; readonly clockRate: number } {
  return codec ?? { payloadType: 0, clockRate: 1 };
}
