/**
 * The streams of one peer: dispatches packets of the client, packetizes frames for it, and sends the reports and feedback of both.
 * Source: RFC 3550, 6; RFC 4585.
 */
import type { Clock } from '../../lib/clock.ts';
import { rtcPayloadBytesMax } from '../../model/media/rtc-limits.ts';
import { isSlice, packetizeH264 } from '../../protocol/rtp/h264-payload.ts';
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
import { IncomingStreams } from './incoming-streams.ts';
import { KeyFramePace } from './key-frame-pace.ts';
import { LeadingUnits } from './leading-units.ts';
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
  readonly #incoming: IncomingStreams;
  readonly #pacer: VideoPacer;
  readonly #rate: SendingRate;
  readonly #feedback: FeedbackAllowance;
  /** Limits key frame requests of the client. */
  readonly #keyFrames = new KeyFramePace();
  /** NAL units for the next picture. */
  readonly #leading = new LeadingUnits();
  #videoBytes = 0;
  /** Bits of video per second between the last two reports. */
  #sentRate = 0;
  /** Wall time minus call time, by which the client synchronizes sound and pictures; null: nothing sent yet. */
  #epochMs: number | null = null;
  #reportedMs: number;

  constructor(agreement: Agreement, deps: MediaStreamsDeps) {
    const nowMs = deps.clock.monotonicMs();
    this.#deps = deps;
    this.#agreement = agreement;
    this.#reportedMs = nowMs;
    this.#audioDown = new StreamSender(outgoing(agreement.audioDown), false);
    this.#videoDown = new StreamSender(outgoing(agreement.videoDown), true);
    this.#incoming = new IncomingStreams(agreement, {
      owner: deps.owner,
      ssrcs: this.ssrcs,
      feedBack: (message) => this.#feedBack(message),
    });
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

  receive(bytes: Buffer): void {
    const nowMs = this.#deps.clock.monotonicMs();
    if (isRtcp(bytes)) {
      if (!this.#feedback.acquirePacket(nowMs)) return;
      for (const message of decodeRtcp(bytes)) this.#handleMessage(message, nowMs);
      this.#requestKeyFrame(nowMs);
      return;
    }
    const packet = decodeRtp(bytes);
    if (packet !== null) this.#incoming.push(packet, nowMs);
  }

  sendVideo(accessUnit: Uint8Array, timestampMs: number, sent: () => void): void {
    if (this.#agreement.videoDown === null) {
      sent();
      return;
    }
    const units = splitNalUnits(accessUnit);
    // The marker ends a picture: parameter sets alone have none. Source: RFC 6184, 5.1.
    if (!units.some(isSlice)) {
      this.#leading.add(units);
      sent();
      return;
    }
    this.#startEpoch(timestampMs);
    const payloads = packetizeH264([...this.#leading.empty(), ...units], rtcPayloadBytesMax);
    const packets = this.#videoDown.packets(payloads, timestampMs, true);
    for (const { length } of packets) this.#feedback.recordSent(length);
    this.#pacer.push(packets, sent, this.#deps.clock.monotonicMs());
  }

  /** Drops a packet that exceeds the payload size: none of 20 ms is so large. */
  sendAudio(payload: Uint8Array, timestampMs: number): void {
    if (this.#agreement.audioDown === null || payload.length > rtcPayloadBytesMax) return;
    this.#startEpoch(timestampMs);
    for (const packet of this.#audioDown.packets([payload], timestampMs, false)) {
      this.#audioDown.sent(packet);
      this.#deps.send(packet);
    }
  }

  askKeyFrame(): void {
    this.#incoming.askKeyFrame(this.#deps.clock.monotonicMs());
  }

  tick(nowMs: number): void {
    this.#pacer.tick(nowMs);
    this.#incoming.tick(nowMs);
    this.#requestKeyFrame(nowMs);
    if (nowMs - this.#reportedMs >= this.#agreement.reportMs) this.#report(nowMs);
  }

  close(): void {
    this.#pacer.close();
  }

  #handleMessage(message: RtcpMessage, nowMs: number): void {
    switch (message.kind) {
      case 'sender_report':
        this.#incoming.receive(message, nowMs);
        this.#handleBlocks(message.blocks);
        break;
      case 'receiver_report':
        this.#handleBlocks(message.blocks);
        break;
      case 'nack':
        if (message.ssrc === this.#videoDown.ssrc) this.#sendAgain(message.sequences, nowMs);
        break;
      case 'picture_lost':
        if (message.ssrc === this.#videoDown.ssrc) this.#keyFrames.want();
        break;
      case 'full_intra':
        if (message.ssrcs.includes(this.#videoDown.ssrc)) this.#keyFrames.want();
        break;
      case 'bye':
        this.#incoming.receive(message, nowMs);
        break;
      case 'bitrate_max':
        if (message.ssrcs.includes(this.#videoDown.ssrc)) this.#rate.recordRemb(message.bitsPerSecond);
        break;
    }
  }

  #sendAgain(sequences: readonly number[], nowMs: number): void {
    const missed = this.#videoDown.missed(sequences, nowMs, (bytes) =>
      this.#feedback.acquireResend(bytes, nowMs),
    );
    if (missed.length > 0) this.#pacer.pushAgain(missed, nowMs);
  }

  #requestKeyFrame(nowMs: number): void {
    if (this.#keyFrames.acquire(nowMs)) this.#deps.owner.keyFrameWanted();
  }

  #handleBlocks(blocks: readonly ReportBlock[]): void {
    for (const { ssrc, fractionLost } of blocks)
      if (ssrc === this.#videoDown.ssrc) this.#rate.recordLoss(fractionLost / 256, this.#sentRate);
  }

  #report(nowMs: number): void {
    const seconds = (nowMs - this.#reportedMs) / 1000;
    this.#sentRate = (this.#videoBytes * 8) / seconds;
    this.#videoBytes = 0;
    this.#reportedMs = nowMs;
    const blocks = this.#incoming.report(nowMs);
    const wallMs = this.#deps.clock.wallMs();
    const timeMs = this.#epochMs === null ? 0 : wallMs - this.#epochMs;
    const senders = [this.#videoDown, this.#audioDown].filter(({ hasSent }) => hasSent);
    const reports = senders.map((sender, index) => sender.report(timeMs, wallMs, index === 0 ? blocks : []));
    if (senders.length === 0) reports.push(encodeReceiverReport({ ssrc: this.#videoDown.ssrc, blocks }));
    const bitrate = this.#incoming.bitrateMax();
    this.#deps.send(Buffer.concat([...reports, this.#name, ...(bitrate === null ? [] : [bitrate])]));
  }

  /** In a compound packet feedback follows a report. */
  #feedBack(feedback: Buffer): void {
    const report = encodeReceiverReport({ ssrc: this.#videoDown.ssrc, blocks: [] });
    this.#deps.send(Buffer.concat([report, this.#name, feedback]));
  }

  get #name(): Buffer {
    return encodeSourceName(this.#videoDown.ssrc, this.#deps.sourceName);
  }

  #startEpoch(timestampMs: number): void {
    this.#epochMs ??= this.#deps.clock.wallMs() - timestampMs;
  }
}

/** Without an agreed codec nothing is sent. */
function outgoing(codec: OfferedCodec | null): { readonly payloadType: number; readonly clockRate: number } {
  return codec ?? { payloadType: 0, clockRate: 1 };
}
