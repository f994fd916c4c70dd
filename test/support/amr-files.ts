/** AMR in storage form: the fixtures, frame by frame, and files of our own frames. Source: RFC 4867, 5. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { parseAmr, type AmrBand } from '../../src/media/sound/amr-frames.ts';
import { checkout } from './checkout.ts';

/** Of the fixtures; they share the level of a sine. */
export const amrTones: readonly number[] = [437, 1193];
const magic: Record<AmrBand, string> = { narrow: '#!AMR\n', wide: '#!AMR-WB\n' };
/** Bytes of a frame by its kind, its octet among them, as the standard's table has them. */
const frameBytes: Record<AmrBand, readonly number[]> = {
  narrow: [13, 14, 16, 18, 20, 21, 27, 32, 6],
  wide: [18, 24, 33, 37, 41, 47, 51, 59, 61, 6],
};

/** Of a file that another encoder has made: see make.py beside it. */
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
