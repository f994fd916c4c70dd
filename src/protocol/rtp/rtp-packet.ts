/**
 * Decodes and encodes RTP packets, and compares their 16-bit sequence numbers. Header extensions and contributing sources are
 * skipped: none is negotiated. Source: RFC 3550, 5.1.
 */

export type RtpPacket = Readonly<NonNullable<ReturnType<typeof decodeRtp>>>;

export const rtpHeaderBytes = 12;
const version = 2;
const paddingFlag = 0x20;
const extensionFlag = 0x10;
const markerFlag = 0x80;

/** A view of the bytes, without copies. Null: not an RTP packet. */
export function decodeRtp(bytes: Uint8Array) {
  if (bytes.length < rtpHeaderBytes) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const flags = view.getUint8(0);
  if (flags >> 6 !== version) return null;
  let start = rtpHeaderBytes + (flags & 0x0f) * 4;
  if ((flags & extensionFlag) !== 0) {
    if (start + 4 > bytes.length) return null;
    start += 4 + view.getUint16(start + 2) * 4;
  }
  const padding = (flags & paddingFlag) === 0 ? 0 : view.getUint8(bytes.length - 1);
  const end = bytes.length - padding;
  if (start > end || ((flags & paddingFlag) !== 0 && padding === 0)) return null;
  const second = view.getUint8(1);
  return {
    payloadType: second & 0x7f,
    marker: (second & markerFlag) !== 0,
    // 16 bits.
    sequence: view.getUint16(2),
    // 32 bits, in the clock of the payload type.
    timestamp: view.getUint32(4),
    ssrc: view.getUint32(8),
    // Empty for padding-only packets, by which a sender probes the bandwidth.
    payload: bytes.subarray(start, end),
  };
}

export function encodeRtp({ payloadType, marker, sequence, timestamp, ssrc, payload }: RtpPacket): Buffer {
  const bytes = Buffer.allocUnsafe(rtpHeaderBytes + payload.length);
  bytes[0] = version << 6;
  bytes[1] = payloadType | (marker ? markerFlag : 0);
  bytes.writeUInt16BE(sequence, 2);
  bytes.writeUInt32BE(timestamp, 4);
  bytes.writeUInt32BE(ssrc, 8);
  bytes.set(payload, rtpHeaderBytes);
  return bytes;
}

/** The second byte distinguishes RTCP on the port of RTP. Source: RFC 5761, 4. */
export function isRtcp(bytes: Uint8Array): boolean {
  const type = bytes[1] ?? 0;
  return type >= 192 && type <= 223;
}

/** The source of an RTP or RTCP packet; undefined: truncated. */
export function sourceOf(bytes: Buffer): number | undefined {
  const at = isRtcp(bytes) ? 4 : 8;
  return bytes.length < at + 4 ? undefined : bytes.readUInt32BE(at);
}

/** Distance from `earlier` to `later`: −32768 to 32767. */
export function sequenceDistance(earlier: number, later: number): number {
  return ((later - earlier) << 16) >> 16;
}

/** As above, for 32-bit timestamps. */
export function timestampDistance(earlier: number, later: number): number {
  return (later - earlier) | 0;
}
