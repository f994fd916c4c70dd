/** Opus in Ogg, as files have it: packets out of one, and packets into one that other programs read. Source: RFC 3533, RFC 7845. */
import assert from 'node:assert/strict';

const headBytes = 27;
const granulesPerPacket = 960;
const serial = 1;

/** Packets of sound: the two of the headers are left out. */
export function opusPackets(file: Buffer): Buffer[] {
  const packets: Buffer[] = [];
  let pieces: Buffer[] = [];
  for (let at = 0; at < file.length;) {
    assert.equal(file.toString('latin1', at, at + 4), 'OggS');
    const lengths = file.subarray(at + headBytes, at + headBytes + file.readUInt8(at + 26));
    at += headBytes + lengths.length;
    for (const length of lengths) {
      pieces.push(file.subarray(at, at + length));
      at += length;
      if (length === 255) continue;
      packets.push(Buffer.concat(pieces));
      pieces = [];
    }
  }
  return packets.slice(2);
}

/** Of packets of 20 ms, each in a page of its own. */
export function opusFile(packets: readonly Uint8Array[], channels: number): Buffer {
  const head = Buffer.from('OpusHead\x01\0\0\0\0\0\0\0\0\0\0', 'latin1');
  head.writeUInt8(channels, 9);
  head.writeUInt32LE(48_000, 12);
  const tags = Buffer.from('OpusTags\x04\0\0\0test\0\0\0\0', 'latin1');
  const pages = [head, tags, ...packets].map((packet, number, all) => {
    const isLast = number === all.length - 1;
    return page(packet, number, Math.max(0, number - 1) * granulesPerPacket, isLast);
  });
  return Buffer.concat(pages);
}

function page(packet: Uint8Array, number: number, granule: number, isLast: boolean): Buffer {
  const lengths = [...Array<number>(Math.floor(packet.length / 255)).fill(255), packet.length % 255];
  const head = Buffer.alloc(headBytes);
  head.write('OggS', 'latin1');
  head.writeUInt8((number === 0 ? 2 : 0) | (isLast ? 4 : 0), 5);
  head.writeBigUInt64LE(BigInt(granule), 6);
  head.writeUInt32LE(serial, 14);
  head.writeUInt32LE(number, 18);
  head.writeUInt8(lengths.length, 26);
  const whole = Buffer.concat([head, Buffer.from(lengths), packet]);
  whole.writeUInt32LE(checksum(whole), 22);
  return whole;
}

/** CRC-32 of the polynomial 04c11db7, neither turned round nor over. */
function checksum(bytes: Uint8Array): number {
  let sum = 0;
  for (const byte of bytes) {
    sum ^= byte << 24;
    for (let bit = 0; bit < 8; bit += 1) sum = sum < 0 ? (sum << 1) ^ 0x04c1_1db7 : sum << 1;
  }
  return sum >>> 0;
}
