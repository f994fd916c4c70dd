/** Pictures in RGB as djpeg writes them: a portable pixel map, binary, 8 bits a sample. */
import type { Size } from '../../src/model/call.ts';
import { runTool } from './debian-tools.ts';

export interface PixelMap extends Size {
  /** Red, green and blue of each pixel, row by row. */
  readonly samples: Uint8Array;
}

/** What djpeg makes of a JPEG; rejects when it complains of anything. */
export async function decodeByDjpeg(jpeg: Uint8Array): Promise<PixelMap> {
  return parsePixelMap(await runTool('djpeg', ['-rgb', '-pnm'], jpeg));
}

export function parsePixelMap(bytes: Buffer): PixelMap {
  const [head = '', width = '', height = ''] =
    /^P6\s+(\d+)\s+(\d+)\s+255\s/.exec(bytes.toString('latin1', 0, 64)) ?? [];
  const size = { width: Number(width), height: Number(height) };
  const samples = bytes.subarray(head.length);
  if (head === '' || samples.length !== size.width * size.height * 3) throw new Error('no pixel map');
  return { ...size, samples };
}

/** Mean of what the samples differ by, in steps of 255 from dark to bright. As many of each. */
export function meanDifference(ours: Uint8Array, others: Uint8Array): number {
  if (ours.length !== others.length) throw new Error(`${ours.length} samples against ${others.length}`);
  return ours.reduce((sum, sample, index) => sum + Math.abs(sample - (others[index] ?? 0)), 0) / ours.length;
}
