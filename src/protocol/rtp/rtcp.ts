/**
 * RTCP: decodes the messages of compound packets that this server acts on, skipping others, and encodes its own. Source: RFC
 * 3550, 6 (6.6: BYE); RFC 4585, 6; RFC 5104, 4.3.1 (FIR); draft-alvestrand-rmcat-remb-03.
 */
import { rtcFeedbackMessagesMax, rtcPacketsKept } from '../../model/media/rtc-limits.ts';

export type ReportBlock = Readonly<ReturnType<typeof decodeBlock>>;

export type SenderReport = Readonly<ReturnType<typeof decodeSenderReport>>;

export interface ReceiverReport {
  readonly kind: 'receiver_report';
  readonly ssrc: number;
  readonly blocks: readonly ReportBlock[];
}

/** Feedback of the receiver of the stream `ssrc`. */
export type Feedback =
  | { readonly kind: 'nack'; readonly ssrc: number; readonly sequences: readonly number[] }
  | { readonly kind: 'picture_lost'; readonly ssrc: number }
  | { readonly kind: 'full_intra'; readonly ssrcs: readonly number[] }
  | { readonly kind: 'bitrate_max'; readonly ssrcs: readonly number[]; readonly bitsPerSecond: number };

export interface Goodbye {
  readonly kind: 'bye';
  readonly ssrcs: readonly number[];
}

export type RtcpMessage = SenderReport | ReceiverReport | Goodbye | Feedback;

const senderReport = 200;
const receiverReport = 201;
const sourceDescription = 202;
const goodbye = 203;
const transportFeedback = 205;
const payloadFeedback = 206;
const genericNack = 1;
const pictureLossIndication = 1;
const fullIntraRequest = 4;
const applicationFeedback = 15;
const remb = 0x52_45_4d_42;
const headerBytes = 4;
const blockBytes = 24;
const feedbackHeadBytes = 12;
const mantissaBits = 18;

/**
 * Decodes up to the first invalid packet, after which packet boundaries are lost, and up to the limit of messages, unknown ones
 * included. All NACKs of a compound packet together name at most as many sequence numbers as packets are kept.
 */
export function decodeRtcp(bytes: Uint8Array): RtcpMessage[] {
  const messages: RtcpMessage[] = [];
  let sequencesLeft = rtcPacketsKept;
  let at = 0;
  for (let count = 0; count < rtcFeedbackMessagesMax && at + headerBytes <= bytes.length; count += 1) {
    const view = new DataView(bytes.buffer, bytes.byteOffset + at, bytes.length - at);
    const length = headerBytes + view.getUint16(2) * 4;
    if (view.getUint8(0) >> 6 !== 2 || length > view.byteLength) break;
    const message = decodeOne(new DataView(view.buffer, view.byteOffset, length), sequencesLeft);
    if (message?.kind === 'nack') sequencesLeft -= message.sequences.length;
    if (message !== null) messages.push(message);
    at += length;
  }
  return messages;
}

function decodeOne(view: DataView, sequencesMax: number): RtcpMessage | null {
  const count = view.getUint8(0) & 0x1f;
  switch (view.getUint8(1)) {
    case senderReport:
      return view.byteLength < 28 ? null : decodeSenderReport(view, count);
    case receiverReport:
      if (view.byteLength < 8) return null;
      return { kind: 'receiver_report', ssrc: view.getUint32(4), blocks: decodeBlocks(view, 8, count) };
    case goodbye:
      return { kind: 'bye', ssrcs: decodeWords(view, 4, count) };
    case transportFeedback:
      return view.byteLength < feedbackHeadBytes || count !== genericNack
        ? null
        : decodeNack(view, sequencesMax);
    case payloadFeedback:
      return view.byteLength < feedbackHeadBytes ? null : decodePayloadFeedback(view, count);
    default:
      return null;
  }
}

function decodeSenderReport(view: DataView, count: number) {
  return {
    kind: 'sender_report' as const,
    ssrc: view.getUint32(4),
    // Seconds since 1900, and their 2^32ths.
    ntpSeconds: view.getUint32(8),
    ntpFraction: view.getUint32(12),
    timestamp: view.getUint32(16),
    packets: view.getUint32(20),
    bytes: view.getUint32(24),
    blocks: decodeBlocks(view, 28, count),
  };
}

function decodeBlocks(view: DataView, from: number, count: number): readonly ReportBlock[] {
  const blocks: ReportBlock[] = [];
  for (let at = from; blocks.length < count && at + blockBytes <= view.byteLength; at += blockBytes)
    blocks.push(decodeBlock(view, at));
  return blocks;
}

function decodeBlock(view: DataView, at: number) {
  return {
    ssrc: view.getUint32(at),
    // Since the last report, in 256ths of the packets.
    fractionLost: view.getUint8(at + 4),
    // In all, 24 bits, signed.
    lost: (view.getInt32(at + 4) << 8) >> 8,
    // Highest sequence number, with its cycles in the upper 16 bits.
    highestSequence: view.getUint32(at + 8),
    // In the stream's clock.
    jitter: view.getUint32(at + 12),
    // Middle 32 bits of the last sender report's NTP time; 0: none arrived.
    lastReport: view.getUint32(at + 16),
    // Since its arrival, in 65536ths of a second.
    sinceLastReport: view.getUint32(at + 20),
  };
}

/** Each item names a packet, and by a mask the 16 after it. Sequence numbers beyond `sequencesMax` are skipped. */
function decodeNack(view: DataView, sequencesMax: number): Feedback {
  const sequences: number[] = [];
  for (let at = feedbackHeadBytes; at + 4 <= view.byteLength && sequences.length < sequencesMax; at += 4) {
    const first = view.getUint16(at);
    const mask = view.getUint16(at + 2);
    sequences.push(first);
    for (let i = 0; i < 16; i += 1) if (((mask >> i) & 1) === 1) sequences.push((first + i + 1) & 0xffff);
  }
  return { kind: 'nack', ssrc: view.getUint32(8), sequences: sequences.slice(0, sequencesMax) };
}

function decodePayloadFeedback(view: DataView, format: number): Feedback | null {
  if (format === pictureLossIndication) return { kind: 'picture_lost', ssrc: view.getUint32(8) };
  if (format === fullIntraRequest) return decodeFullIntra(view);
  if (format === applicationFeedback && view.byteLength >= 20 && view.getUint32(12) === remb)
    return decodeBitrateMax(view);
  return null;
}

/** The streams named in it, up to the limit of messages per packet. */
function decodeFullIntra(view: DataView): Feedback {
  const ssrcs: number[] = [];
  for (
    let at = feedbackHeadBytes;
    at + 8 <= view.byteLength && ssrcs.length < rtcFeedbackMessagesMax;
    at += 8
  )
    ssrcs.push(view.getUint32(at));
  return { kind: 'full_intra', ssrcs };
}

function decodeBitrateMax(view: DataView): Feedback {
  const packed = view.getUint32(16);
  const exponent = (packed >>> mantissaBits) & 0x3f;
  const bitsPerSecond = (packed & (2 ** mantissaBits - 1)) * 2 ** exponent;
  return { kind: 'bitrate_max', ssrcs: decodeWords(view, 20, packed >>> 24), bitsPerSecond };
}

/** Stops at the end of the packet. */
function decodeWords(view: DataView, from: number, count: number): number[] {
  const words: number[] = [];
  for (let at = from; words.length < count && at + 4 <= view.byteLength; at += 4)
    words.push(view.getUint32(at));
  return words;
}

function packet(type: number, count: number, words: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(headerBytes + words.length * 4);
  bytes[0] = (2 << 6) | count;
  bytes[1] = type;
  bytes.writeUInt16BE(words.length, 2);
  words.forEach((word, index) => bytes.writeUInt32BE(word >>> 0, headerBytes + index * 4));
  return bytes;
}

export function encodeSenderReport(report: Omit<SenderReport, 'kind'>): Buffer {
  const { ssrc, ntpSeconds, ntpFraction, timestamp, packets, bytes, blocks } = report;
  const head = [ssrc, ntpSeconds, ntpFraction, timestamp, packets, bytes];
  return packet(senderReport, blocks.length, [...head, ...blocks.flatMap(blockWords)]);
}

export function encodeReceiverReport({ ssrc, blocks }: Omit<ReceiverReport, 'kind'>): Buffer {
  return packet(receiverReport, blocks.length, [ssrc, ...blocks.flatMap(blockWords)]);
}

function blockWords(block: ReportBlock): number[] {
  const losses = (block.fractionLost << 24) | (block.lost & 0xff_ff_ff);
  const { ssrc, highestSequence, jitter, lastReport, sinceLastReport } = block;
  return [ssrc, losses, highestSequence, jitter, lastReport, sinceLastReport];
}

/** CNAME, which follows the report in every compound packet. `name`: at most 255 ASCII characters. */
export function encodeSourceName(ssrc: number, name: string): Buffer {
  const item = Buffer.from(`\x01${String.fromCharCode(name.length)}${name}`, 'latin1');
  const padded = Buffer.alloc(Math.ceil((item.length + 1) / 4) * 4);
  item.copy(padded);
  const words = Array.from({ length: padded.length / 4 }, (_, index) => padded.readUInt32BE(index * 4));
  return packet(sourceDescription, 1, [ssrc, ...words]);
}

/** `sequences`: ascending. */
export function encodeNack(sender: number, ssrc: number, sequences: readonly number[]): Buffer {
  const items: { first: number; mask: number }[] = [];
  for (const sequence of sequences) {
    const last = items.at(-1);
    const behind = last === undefined ? 0 : (sequence - last.first) & 0xffff;
    if (last !== undefined && behind >= 1 && behind <= 16) last.mask |= 1 << (behind - 1);
    else items.push({ first: sequence, mask: 0 });
  }
  return packet(transportFeedback, genericNack, [
    sender,
    ssrc,
    ...items.map(({ first, mask }) => first * 0x1_0000 + mask),
  ]);
}

export function encodePictureLost(sender: number, ssrc: number): Buffer {
  return packet(payloadFeedback, pictureLossIndication, [sender, ssrc]);
}

export function encodeBitrateMax(sender: number, ssrc: number, bitsPerSecond: number): Buffer {
  let [exponent, mantissa] = [0, Math.floor(bitsPerSecond)];
  while (mantissa >= 2 ** mantissaBits) {
    mantissa = Math.floor(mantissa / 2);
    exponent += 1;
  }
  const packed = 2 ** 24 + exponent * 2 ** mantissaBits + mantissa;
  return packet(payloadFeedback, applicationFeedback, [sender, 0, remb, packed, ssrc]);
}
