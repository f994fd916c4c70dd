/**
 * One outgoing stream: RTP packets with the call's time, a store of the latest packets for retransmission, and sender reports. Source:
 * RFC 3550, 5.1 and 6.4.1; RFC 4585, 6.2.1.
 */
import { randomBytes } from 'node:crypto';
import { rtcPacketsKept, rtcResendMsMin, rtcResendsMax } from '../../model/media/rtc-limits.ts';
import { encodeSenderReport, type ReportBlock } from '../../protocol/rtp/rtcp.ts';
import { encodeRtp, rtpHeaderBytes } from '../../protocol/rtp/rtp-packet.ts';

export interface OutgoingCodec {
  readonly payloadType: number;
  readonly clockRate: number;
}

interface SentPacket {
  readonly sequence: number;
  readonly bytes: Buffer;
  resends: number;
  resentMs: number;
}

/** Seconds from 1900 to 1970. */
const ntpEpochSeconds = 2_208_988_800;

export class StreamSender {
  readonly ssrc = randomBytes(4).readUInt32BE();
  readonly #codec: OutgoingCodec;
  readonly #isKept: boolean;
  #sequence = randomBytes(2).readUInt16BE();
  readonly #timestampBase = randomBytes(4).readUInt32BE();
  /** By sequence number modulo the number of packets kept. */
  readonly #kept: (SentPacket | undefined)[] = [];
  #packets = 0;
  #bytes = 0;

  /** `isKept`: packets are kept for retransmission. */
  constructor(codec: OutgoingCodec, isKept: boolean) {
    this.#codec = codec;
    this.#isKept = isKept;
  }

  /** The packets of a frame; the last is marked if `marksEnd`. */
  packets(payloads: readonly Uint8Array[], timestampMs: number, marksEnd: boolean): Buffer[] {
    const timestamp = this.#timestampAt(timestampMs);
    const { payloadType } = this.#codec;
    return payloads.map((payload, index) => {
      const marker = marksEnd && index === payloads.length - 1;
      const sequence = this.#sequence;
      this.#sequence = (sequence + 1) & 0xffff;
      const bytes = encodeRtp({ payloadType, marker, sequence, timestamp, ssrc: this.ssrc, payload });
      if (this.#isKept)
        this.#kept[sequence % rtcPacketsKept] = { sequence, bytes, resends: 0, resentMs: -Infinity };
      return bytes;
    });
  }

  sent(packet: Buffer): void {
    this.#packets += 1;
    this.#bytes += packet.length - rtpHeaderBytes;
  }

  /**
   * The missed packets that are still kept, each a limited number of times and not too soon again, as long as `acquire` grants their
   * bytes.
   */
  missed(sequences: readonly number[], nowMs: number, acquire: (bytes: number) => boolean): Buffer[] {
    const packets: Buffer[] = [];
    for (const sequence of sequences) {
      const packet = this.#kept[sequence % rtcPacketsKept];
      if (packet?.sequence !== sequence || packet.resends === rtcResendsMax) continue;
      if (nowMs - packet.resentMs < rtcResendMsMin) continue;
      if (!acquire(packet.bytes.length)) break;
      packet.resends += 1;
      packet.resentMs = nowMs;
      packets.push(packet.bytes);
    }
    return packets;
  }

  get hasSent(): boolean {
    return this.#packets > 0;
  }

  /** `timestampMs`: call time at `wallMs`. */
  report(timestampMs: number, wallMs: number, blocks: readonly ReportBlock[]): Buffer {
    const seconds = Math.floor(wallMs / 1000);
    return encodeSenderReport({
      ssrc: this.ssrc,
      ntpSeconds: (seconds + ntpEpochSeconds) % 2 ** 32,
      ntpFraction: Math.floor(((wallMs - seconds * 1000) / 1000) * 2 ** 32),
      timestamp: this.#timestampAt(timestampMs),
      packets: this.#packets % 2 ** 32,
      bytes: this.#bytes % 2 ** 32,
      blocks,
    });
  }

  #timestampAt(timestampMs: number): number {
    const ticks = Math.round((timestampMs * this.#codec.clockRate) / 1000);
    return (this.#timestampBase + ticks) >>> 0;
  }
}
