/**
 * Facts of JPEGs: their size by the frame header (SOF0 and its kin), without decoding them, and what FFmpeg's encoder calls a
 * quality. Source: ITU-T T.81, B.1 and B.2; calls-and-media.md, Legs and Resolution.
 */
import type { Size } from '../../model/call.ts';

export const startOfImage = 0xd8;
export const endOfImage = 0xd9;
export const startOfScan = 0xda;
const beginning = Buffer.of(0xff, startOfImage);
/** Among the frame headers by number: Huffman tables, an extension, arithmetic conditioning. */
const noFrameHeaders = new Set([0xc4, 0xc8, 0xcc]);

/**
 * Null: no JPEG, or one that does not say its size before its scan. Looks at each byte once at most; thumbnails lie within
 * segments, which are stepped over.
 */
export function jpegSize(bytes: Uint8Array): Size | null {
  const from = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).indexOf(beginning);
  if (from === -1) return null;
  let at = from + 2;
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

export function isFrameHeader(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && !noFrameHeaders.has(marker);
}

/** TEM, restart markers and a repeated start: no segment follows. */
function standsAlone(marker: number): boolean {
  return marker === 0x01 || (marker >= 0xd0 && marker <= startOfImage);
}

/** Behind length and precision. A height of 0 is given behind the scan, if at all. */
export function frameSize(bytes: Uint8Array, at: number): Size | null {
  const height = wordAt(bytes, at + 3);
  const width = wordAt(bytes, at + 5);
  return width === 0 || height === 0 ? null : { width, height };
}

/** 0 where the bytes end before. */
export function wordAt(bytes: Uint8Array, at: number): number {
  return at + 1 < bytes.length ? (bytes[at] ?? 0) * 256 + (bytes[at + 1] ?? 0) : 0;
}

/**
 * For each qscale from 1, the least quality it is good for; below the last it is 31. Measured: the largest qscale
 * whose mean SSIM is in no plane, of Y, U and V, below that of libjpeg (4:2:0, from RGB, accurate DCT) at this
 * quality, on natural pictures of 640x480, 320x240, 240x320 and 74x100. A qscale is a whole number, so that several
 * qualities share one; from 96 on the best of them is no longer libjpeg's equal.
 */
const leastQualities = [
  89, 82, 73, 65, 57, 48, 41, 36, 32, 28, 25, 23, 21, 19, 18, 16, 16, 15, 14, 13, 13, 12, 12, 11, 11, 11, 10,
  10, 10, 9,
];
const qscaleMax = 31;

/** FFmpeg's qscale, 1-31, the less the better. `quality`: 1-100, libjpeg's scale. */
export function quantiserOf(quality: number): number {
  const index = leastQualities.findIndex((least) => quality >= least);
  return index === -1 ? qscaleMax : index + 1;
}
