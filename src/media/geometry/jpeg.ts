/**
 * JPEG facts: the size by the frame header (SOF0 and its variants), without decoding, and FFmpeg's equivalent of a quality. Source:
 * ITU-T T.81, B.1 and B.2; calls-and-media.md, Legs and Resolution.
 */
import type { Size } from '../../model/call.ts';

export const startOfImage = 0xd8;
export const endOfImage = 0xd9;
export const startOfScan = 0xda;
const beginning = Buffer.of(0xff, startOfImage);
/** Codes in the range of frame headers that are none: Huffman tables, an extension, arithmetic conditioning. */
const noFrameHeaders = new Set([0xc4, 0xc8, 0xcc]);

/**
 * Null: not a JPEG, or its size does not precede its scan. Reads each byte at most once; thumbnails lie within segments, which are
 * skipped.
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
    // A length includes its own two bytes; if it is less, the search continues after it.
    if (!standsAlone(marker)) at += Math.max(wordAt(bytes, at), 2);
  }
}

/**
 * Index of the next marker's code, after its last 0xFF; at or beyond the end: there is none. Other bytes are skipped, as decoders do, so
 * that the size is the one they would use.
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

/** TEM, restart markers and a repeated start have no segment. */
function standsAlone(marker: number): boolean {
  return marker === 0x01 || (marker >= 0xd0 && marker <= startOfImage);
}

/** Size in the frame header at `at`. Null: a side is 0; a height may follow the scan instead. */
export function frameSize(bytes: Uint8Array, at: number): Size | null {
  const height = wordAt(bytes, at + 3);
  const width = wordAt(bytes, at + 5);
  return width === 0 || height === 0 ? null : { width, height };
}

/** 0: the bytes end before. */
export function wordAt(bytes: Uint8Array, at: number): number {
  return at + 1 < bytes.length ? (bytes[at] ?? 0) * 256 + (bytes[at + 1] ?? 0) : 0;
}

/**
 * For each qscale from 1, the lowest quality that it suits; below the last one it is 31. Measured: the largest qscale whose mean SSIM is
 * in no plane (Y, U, V) below that of libjpeg (4:2:0, from RGB, accurate DCT) at this quality, on natural pictures of 640x480, 320x240,
 * 240x320 and 74x100. A qscale is an integer, so several qualities share one; from 96 on the best one is below libjpeg.
 */
const leastQualities = [
  89, 82, 73, 65, 57, 48, 41, 36, 32, 28, 25, 23, 21, 19, 18, 16, 16, 15, 14, 13, 13, 12, 12, 11, 11, 11, 10,
  10, 10, 9,
];
const qscaleMax = 31;

/** FFmpeg's qscale, 1-31, lower is better. `quality`: 1-100, libjpeg's scale. */
export function quantiserOf(quality: number): number {
  const index = leastQualities.findIndex((least) => quality >= least);
  return index === -1 ? qscaleMax : index + 1;
}
