/** Opus in an Ogg file. Source: RFC 3533 and 7845. */
import assert from 'node:assert/strict';

/** Bytes of a page's header before its table of lengths. */
const headBytes = 27;

/** Packets of sound, without the two of the headers. */
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
