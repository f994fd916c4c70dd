/**
 * AMR files in storage format: the fixtures, read frame by frame, and files made of our own frames. Source: RFC 4867, section
 * 5.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { parseAmr, type AmrBand } from '../../src/media/sound/amr-frames.ts';
import { checkout } from './checkout.ts';

/** Frequencies of the sines in the fixtures, Hz. The two sines share one level. */
export const amrTones: readonly number[] = [437, 1193];
const magic: Record<AmrBand, string> = { narrow: '#!AMR\n', wide: '#!AMR-WB\n' };
/** Bytes of a frame by frame type, table-of-contents octet included, as the table of the standard lists them. */
const frameBytes: Record<AmrBand, readonly number[]> = {
  narrow: [13, 14, 16, 18, 20, 21, 27, 32, 6],
  wide: [18, 24, 33, 37, 41, 47, 51, 59, 61, 6],
};

/** The frames of a fixture, which another encoder made: see make.py in its folder. */
export function amrFixture(band: AmrBand): Uint8Array<ArrayBuffer>[] {
  const file = readFileSync(new URL(`test/fixtures/amr/${band}.amr`, checkout));
  const frames: Uint8Array<ArrayBuffer>[] = [];
  for (let at = magic[band].length; at < file.length;) {
    const bytes = frameBytes[band][((file[at] ?? 0) >> 3) & 15] ?? 1;
    frames.push(new Uint8Array(file.subarray(at, at + bytes)));
    at += bytes;
  }
  assert.ok(frames.every((frame) => parseAmr(frame, band)?.frames.length === 1));
  return frames;
}

export function amrFile(frames: readonly Uint8Array[], band: AmrBand = 'narrow'): Buffer {
  return Buffer.concat([Buffer.from(magic[band]), ...frames]);
}
