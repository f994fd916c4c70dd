/** Frames of I420: a plane of Y, then U and V with half its columns and rows. Source: calls-and-media.md, Legs. */
import type { Size } from '../../model/call.ts';

/** Of the three planes without padding; an odd side has its half rounded up. */
export function i420Bytes({ width, height }: Size): number {
  return width * height + 2 * Math.ceil(width / 2) * Math.ceil(height / 2);
}
