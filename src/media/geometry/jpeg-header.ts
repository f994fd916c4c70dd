/**
 * The size of a JPEG by its frame header (SOF0 and its kin), without decoding it. Thumbnails lie within segments, which
 * are stepped over. Source: ITU-T T.81, B.1 and B.2; calls-and-media.md, Legs.
 */
import type { Size } from '../../model/call.ts';

const startOfImage = 0xd8;
const endOfImage = 0xd9;
const startOfScan = 0xda;
/** Among the frame headers by number: Huffman tables, an extension, arithmetic conditioning. */
const noFrameHeaders = new Set([0xc4, 0xc8, 0xcc]);

/** Null: no JPEG, or one that does not say its size before its scan. Looks at each byte once at most. */
export function jpegSize(bytes: Uint8Array): Size | null {
  if (bytes[0] !== 0xff || bytes[1] !== startOfImage) return null;
  let at = 2;
  for (;;) {
    at = markerAt(bytes, at);
    const marker = bytes[at];
    if (marker === undefined || marker === endOfImage || marker === startOfScan) return null;
    at += 1;
    if (isFrameHeader(marker)) return frameSize(bytes, at);
    // A length counts its own two bytes; less is nonsense, and the next marker is looked for behind it.
    if (!standsAlone(marker)) at += Math.max(wordAt(bytes, at), 2);
  }
}

/**
 * Where the number of the next marker is, behind its last 0xFF; the end, or beyond it: there is none. What is no marker
 * is passed over, as decoders do, so that the size is the one they would take.
 */
function markerAt(bytes: Uint8Array, from: number): number {
  let at = bytes.indexOf(0xff, from);
  while (at !== -1) {
    while (bytes[at] === 0xff) at += 1;
    if (bytes[at] !== 0) return at;
    at = bytes.indexOf(0xff, at);
  }
  return bytes.length;
}

function isFrameHeader(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && !noFrameHeaders.has(marker);
}

/** TEM, restart markers and a repeated start: no segment follows. */
function standsAlone(marker: number): boolean {
  return marker === 0x01 || (marker >= 0xd0 && marker <= startOfImage);
}

/** Behind length and precision. A height of 0 is given behind the scan, if at all. */
function frameSize(bytes: Uint8Array, at: number): Size | null {
  const height = wordAt(bytes, at + 3);
  const width = wordAt(bytes, at + 5);
  return width === 0 || height === 0 ? null : { width, height };
}

/** 0 where the bytes end before. */
function wordAt(bytes: Uint8Array, at: number): number {
  return at + 1 < bytes.length ? (bytes[at] ?? 0) * 256 + (bytes[at + 1] ?? 0) : 0;
}
