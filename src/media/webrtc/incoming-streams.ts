/**
 * The streams that a client sends: dispatches packets by payload type, delivers access units and sound, with pictures aligned to the
 * sound, and sends the feedback that is due. Source: RFC 3550, 6; RFC 4585; RFC 7587 (Opus); RFC 3551, 4.5.14 (PCMA).
 */
import { rtcAlignMsMax, rtcVideoBitrateMax } from '../../model/media/rtc-limits.ts';
import type { AudioFrameFormat } from '../../model/media/sound.ts';
import type { ReportBlock, RtcpMessage } from '../../protocol/rtp/rtcp.ts';
import type { RtpPacket } from '../../protocol/rtp/rtp-packet.ts';
import type { OfferedCodec } from '../../protocol/sdp/media-offer.ts';
import { AccessUnits, type AccessUnitsOwner } from './access-units.ts';
import type { Agreement } from './agreement.ts';
import { IncomingStream, SoundSink, type PacketSink } from './incoming-stream.ts';
import { KeyFramePace } from './key-frame-pace.ts';
import type { RtcPeerOwner } from './rtc-peer.ts';

export interface IncomingStreamsDeps {
  readonly owner: RtcPeerOwner;
  readonly ssrcs: Readonly<Record<'audio' | 'video', number>>;
  /** Sends feedback to the client. */
  feedBack(message: Buffer): void;
}

export class IncomingStreams {
  readonly #deps: IncomingStreamsDeps;
  readonly #streams = new Map<number, IncomingStream>();
  readonly #video: IncomingStream | null;
  readonly #audio: IncomingStream | null;
  /** Limits requests to the client. */
  readonly #keyFrames = new KeyFramePace();

  constructor({ videoUp, audioUp }: Agreement, deps: IncomingStreamsDeps) {
    this.#deps = deps;
    this.#video = videoUp === null ? null : this.#openVideo(videoUp);
    this.#audio = audioUp === null ? null : this.#openAudio(audioUp);
  }

  push(packet: RtpPacket, nowMs: number): void {
    this.#streams.get(packet.payloadType)?.push(packet, nowMs);
    this.#requestKeyFrame(nowMs);
  }

  receive(message: RtcpMessage, nowMs: number): void {
    for (const stream of this.#streams.values()) {
      if (message.kind === 'sender_report') stream.recordSenderReport(message, nowMs);
      if (message.kind === 'bye') stream.leave(message.ssrcs);
    }
    if (message.kind === 'sender_report') this.#align();
  }

  askKeyFrame(nowMs: number): void {
    this.#keyFrames.want();
    this.#requestKeyFrame(nowMs);
  }

  tick(nowMs: number): void {
    for (const stream of this.#streams.values()) {
      const feedback = stream.tick(nowMs);
      if (feedback !== null) this.#deps.feedBack(feedback);
    }
    this.#requestKeyFrame(nowMs);
  }

  report(nowMs: number): ReportBlock[] {
    return [...this.#streams.values()].flatMap((stream) => stream.report(nowMs) ?? []);
  }

  bitrateMax(): Buffer | null {
    return this.#video?.bitrateMax(rtcVideoBitrateMax) ?? null;
  }

  #openVideo(codec: OfferedCodec): IncomingStream {
    const owner: AccessUnitsOwner = {
      video: (accessUnit, isKey, timestampMs) => {
        if (isKey) this.#keyFrames.satisfy();
        this.#deps.owner.video(accessUnit, isKey, timestampMs);
      },
      pictureLost: () => this.#keyFrames.want(),
    };
    return this.#open(
      'video',
      codec,
      (isJoinedLate) => new AccessUnits(codec.clockRate, owner, isJoinedLate),
    );
  }

  #openAudio(codec: OfferedCodec): IncomingStream {
    const format: AudioFrameFormat = codec.name === 'opus' ? 'opus' : 'alaw';
    const deliver = (payload: Uint8Array<ArrayBuffer>, timestampMs: number): void =>
      this.#deps.owner.audio(format, payload, timestampMs);
    return this.#open('audio', codec, () => new SoundSink(codec.clockRate, deliver));
  }

  #open(
    kind: 'audio' | 'video',
    { payloadType, clockRate }: OfferedCodec,
    makeSink: (isJoinedLate: boolean) => PacketSink,
  ): IncomingStream {
    const stream = new IncomingStream({ kind, clockRate, ownSsrc: this.#deps.ssrcs[kind], makeSink });
    this.#streams.set(payloadType, stream);
    return stream;
  }

  /** Each stream counts from its first packet; pictures are shifted to their place in the sound by the client's clock. */
  #align(): void {
    const [seenMs, heardMs] = [this.#video?.aheadMs ?? null, this.#audio?.aheadMs ?? null];
    if (seenMs === null || heardMs === null || Math.abs(heardMs - seenMs) > rtcAlignMsMax) return;
    this.#video?.move(heardMs - seenMs);
  }

  #requestKeyFrame(nowMs: number): void {
    const lost = this.#keyFrames.acquire(nowMs) ? (this.#video?.pictureLost() ?? null) : null;
    if (lost !== null) this.#deps.feedBack(lost);
  }
}
