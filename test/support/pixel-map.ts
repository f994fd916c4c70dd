/** RGB pictures as djpeg writes them: binary portable pixel maps, 8 bits per sample. */
import type { Size } from '../../src/model/call.ts';
import { runTool } from './debian-tools.ts';

export interface PixelMap extends Size {
  readonly samples: Uint8Array;
}

/** Decodes a JPEG with djpeg. Rejects when it prints any complaint. */
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

/** Mean absolute difference of the samples, 0 to 255. Both have the same length. */
export function meanDifference(ours: Uint8Array, others: Uint8Array): number {
  if (ours.length !== others.length) throw new Error(`${ours.length} samples against ${others.length}`);
  return ours.reduce((sum, sample, index) => sum + Math.abs(sample - (others[index] ?? 0)), 0) / ours.length;
}
