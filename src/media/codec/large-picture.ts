/** Where time is saved, and where bytes and sharpness are. Source: docs/benchmarks.md, Pictures. */
import type { Size } from '../../model/call.ts';

/** Pixels. What is larger costs the worker most of its time; what is smaller has few bytes, and each counts. */
const smallAreaMax = 50_000;

export function isLarge({ width, height }: Size): boolean {
  return width * height > smallAreaMax;
}
