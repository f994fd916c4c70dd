/** The receiving end of a peer's streams on a driven clock: a test feeds it RTP packets and reads the feedback it sends. */
import type { Agreement } from '../../src/media/webrtc/agreement.ts';
import { SharedFeedback } from '../../src/media/webrtc/feedback-allowance.ts';
import { MediaStreams } from '../../src/media/webrtc/media-streams.ts';
import { decodeRtcp, type RtcpMessage } from '../../src/protocol/rtp/rtcp.ts';
import { encodeRtp, isRtcp } from '../../src/protocol/rtp/rtp-packet.ts';
import type { OfferedCodec } from '../../src/protocol/sdp/media-offer.ts';
import { DrivenClock } from './driven-clock.ts';
import { KeptOwner } from './kept-rtc-owner.ts';

const codec = (payloadType: number, name: string, clockRate: number): OfferedCodec => ({
  payloadType,
  name,
  clockRate,
  channels: 1,
  parameters: new Map(),
  feedback: new Set(),
});

/** H.264 as payload type 96 and Opus as 111, in both directions. */
export const bothWays: Agreement = {
  reportMs: 1000,
  videoDown: codec(96, 'h264', 90_000),
  videoUp: codec(96, 'h264', 90_000),
  audioDown: codec(111, 'opus', 48_000),
  audioUp: codec(111, 'opus', 48_000),
  channels: null,
};

export interface PacketFields {
  readonly timestamp?: number;
  readonly marker?: boolean;
  readonly ssrc?: number;
  readonly payloadType?: number;
  /** Default: the scene's next number. */
  readonly sequence?: number;
}

export class IncomingScene {
  readonly clock = new DrivenClock();
  readonly owner = new KeptOwner();
  readonly feedback: { readonly atMs: number; readonly message: RtcpMessage }[] = [];
  readonly streams: MediaStreams;
  /** Starts near the end of the number range, so that each test crosses the wrap-around. */
  #sequence = 0xfffe;

  constructor() {
    this.streams = new MediaStreams(bothWays, {
      clock: this.clock,
      owner: this.owner,
      sourceName: 'test',
      feedback: new SharedFeedback(this.clock.monotonicMs()),
      send: (bytes) => this.#keep(bytes),
    });
  }

  /** Delivered access units, one line each. */
  get video(): string[] {
    return this.owner.lines.filter((line) => line.startsWith('video '));
  }

  get audio(): string[] {
    return this.owner.lines.filter((line) => line.startsWith('audio '));
  }

  get lossesMs(): number[] {
    return this.feedback.filter(({ message }) => message.kind === 'picture_lost').map(({ atMs }) => atMs);
  }

  get pictureLosses(): number {
    return this.lossesMs.length;
  }

  packet(payloadHex: string, fields: PacketFields = {}): Buffer {
    const { timestamp = 0, marker = false, ssrc = 1, payloadType = 96 } = fields;
    const sequence = fields.sequence ?? this.#next();
    const payload = Buffer.from(payloadHex, 'hex');
    return encodeRtp({ payloadType, marker, sequence, timestamp, ssrc, payload });
  }

  push(packet: Buffer | undefined): void {
    this.streams.receive(Buffer.from(packet ?? ''));
  }

  send(payloadHex: string, fields: PacketFields = {}): void {
    this.push(this.packet(payloadHex, fields));
  }

  skip(): void {
    this.#next();
  }

  pass(ms: number): void {
    for (let passed = 0; passed < ms; passed += 20) {
      this.clock.advance(20);
      this.streams.tick(this.clock.monotonicMs());
    }
  }

  #next(): number {
    const sequence = this.#sequence;
    this.#sequence = (sequence + 1) & 0xffff;
    return sequence;
  }

  #keep(bytes: Buffer): void {
    if (!isRtcp(bytes)) return;
    const atMs = this.clock.monotonicMs();
    for (const message of decodeRtcp(bytes)) this.feedback.push({ atMs, message });
  }
}
