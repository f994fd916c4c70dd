/**
 * The streams of one peer over its connection: packets of the client to its streams, frames to the packets that are sent to
 * it, and the reports and feedback of both. Source: RFC 3550, 6; RFC 4585.
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
  /** Requests of the client. */
  readonly #keyFrames = new KeyFramePace();
  /** For the next picture that is sent. */
  readonly #leading = new LeadingUnits();
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

  take(bytes: Buffer): void {
    const nowMs = this.#deps.clock.monotonicMs();
    if (isRtcp(bytes)) {
      if (!this.#feedback.acquirePacket(nowMs)) return;
      for (const message of decodeRtcp(bytes)) this.#heard(message, nowMs);
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
    this.#tellTime(timestampMs);
    const payloads = packetizeH264([...this.#leading.empty(), ...units], rtcPayloadBytesMax);
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

  #heard(message: RtcpMessage, nowMs: number): void {
    switch (message.kind) {
      case 'sender_report':
        this.#incoming.receive(message, nowMs);
        this.#hearBlocks(message.blocks);
        break;
      case 'receiver_report':
        this.#hearBlocks(message.blocks);
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

  #requestKeyFrame(nowMs: number): void {
    if (this.#keyFrames.acquire(nowMs)) this.#deps.owner.keyFrameWanted();
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
    const blocks = this.#incoming.report(nowMs);
    const wallMs = this.#deps.clock.wallMs();
    const timeMs = this.#epochMs === null ? 0 : wallMs - this.#epochMs;
    const senders = [this.#videoDown, this.#audioDown].filter(({ hasSent }) => hasSent);
    const reports = senders.map((sender, index) => sender.report(timeMs, wallMs, index === 0 ? blocks : []));
    if (senders.length === 0) reports.push(encodeReceiverReport({ ssrc: this.#videoDown.ssrc, blocks }));
    const bitrate = this.#incoming.bitrateMax();
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

/** What is not agreed is not sent. */
function outgoing(codec: OfferedCodec | null): { readonly payloadType: number; readonly clockRate: number } {
  return codec ?? { payloadType: 0, clockRate: 1 };
}
