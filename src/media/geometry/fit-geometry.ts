/**
 * The size of a picture that is scaled down to lie within a screen: all of the source, its aspect kept, no bars.
 * Source: calls-and-media.md, Resolution; backend-server-api.md, Downlink video resolution modes.
 */
import type { Size } from '../../model/call.ts';
import { evenAtMost, quotient } from './integer-arithmetic.ts';

/**
 * Sides are whole pixels, at least 1. The scale is min(1, sw/w, sh/h); each side is rounded down, then down to even.
 * Null: a side would be 0.
 */
export function fitSize(source: Size, screen: Size): Size | null {
  const scaled = scaledWithin(source, screen);
  const width = evenAtMost(scaled.width);
  const height = evenAtMost(scaled.height);
  return width === 0 || height === 0 ? null : { width, height };
}

function scaledWithin(source: Size, screen: Size): Size {
  if (source.width <= screen.width && source.height <= screen.height) return source;
  // sw/w <= sh/h, without the fractions: the width is what binds.
  if (screen.width * source.height <= screen.height * source.width)
    return { width: screen.width, height: quotient(source.height * screen.width, source.width) };
  return { width: quotient(source.width * screen.height, source.height), height: screen.height };
}
