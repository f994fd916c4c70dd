/**
 * What of a source fills a screen: the largest part of the screen's aspect, from the middle. One scale makes of it the
 * screen's size, up or down. Source: calls-and-media.md, Resolution; backend-server-api.md, Downlink video resolution
 * modes.
 */
import type { Size } from '../../model/call.ts';
import { evenAtMost, quotient } from './integer-arithmetic.ts';

/** Part of a picture; `x` and `y`, even, are of its upper left corner. */
export interface Crop extends Size {
  readonly x: number;
  readonly y: number;
}

/**
 * Sides are whole pixels, at least 1. The scale is max(sw/w, sh/h); a side of the crop is the even number next to
 * sw/scale or sh/scale that the source has, of two as near the lower; at least 2, or the source's side.
 */
export function fillCrop(source: Size, screen: Size): Crop {
  // sw/w >= sh/h, without the fractions: the width is kept, and sh/scale is sh*w/sw.
  const keepsWidth = screen.width * source.height >= screen.height * source.width;
  const width = keepsWidth
    ? cropSide(source.width, 1, source.width)
    : cropSide(screen.width * source.height, screen.height, source.width);
  const height = keepsWidth
    ? cropSide(screen.height * source.width, screen.width, source.height)
    : cropSide(source.height, 1, source.height);
  return { x: cropOffset(source.width, width), y: cropOffset(source.height, height), width, height };
}

/** Of the exact side `dividend / divisor`. */
function cropSide(dividend: number, divisor: number, sourceSide: number): number {
  const nearestEven = 2 * quotient(dividend + divisor - 1, 2 * divisor);
  return Math.min(Math.max(Math.min(nearestEven, evenAtMost(sourceSide)), 2), sourceSide);
}

function cropOffset(sourceSide: number, side: number): number {
  return evenAtMost(quotient(sourceSide - side, 2));
}
