/**
 * Plans the picture that is made of a source of some size: which part of the source, how large, and whether a smaller
 * decoding of a JPEG will do. Pure arithmetic; scaling is the codec's. Source: calls-and-media.md, Resolution;
 * backend-server-api.md, Downlink video resolution modes.
 */
import { assert } from '../../lib/assert.ts';
import type { Size } from '../../model/call.ts';
import type { PictureFormat, PictureShape } from '../../model/media/picture.ts';

/** `crop`, of the source, is scaled to `output`, whose sides are even where it is scaled at all. */
export interface PicturePlan {
  readonly crop: Crop;
  readonly output: Size;
}

/** Sides are whole pixels, at least 1, a screen to fill even. Null: a side of the picture would be 0. */
export function planPicture(source: Size, shape: PictureShape): PicturePlan | null {
  if (shape.mode === 'auto') return planOwnSize(source, shape.format);
  assert(shape.screen !== null, 'a scaled picture has a screen');
  if (shape.mode === 'fill_screen') return { crop: fillCrop(source, shape.screen), output: shape.screen };
  const output = fitSize(source, shape.screen);
  return output === null ? null : { crop: { x: 0, y: 0, ...source }, output };
}

/** Of H.264 the sides are even: the last column or row of an odd source is left out. */
function planOwnSize({ width, height }: Size, format: PictureFormat = 'mjpeg'): PicturePlan | null {
  const output =
    format === 'mjpeg' ? { width, height } : { width: evenAtMost(width), height: evenAtMost(height) };
  return output.width === 0 || output.height === 0 ? null : { crop: { x: 0, y: 0, ...output }, output };
}

/** Part of a picture; `x` and `y`, even, are of its upper left corner. */
export interface Crop extends Size {
  readonly x: number;
  readonly y: number;
}

/**
 * The part of a source that fills a screen: the largest of the screen's aspect, from the middle. One scale makes of it the
 * screen's size, up or down. Sides are whole pixels, at least 1. The scale is max(sw/w, sh/h); a side of the crop is the even number next to
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

/**
 * The size of a picture that is scaled down to lie within a screen: all of the source, its aspect kept, no bars. Sides are
 * whole pixels, at least 1. The scale is min(1, sw/w, sh/h); each side is rounded down, then down to even.
 * Null: a side would be 0.
 */
function fitSize(source: Size, screen: Size): Size | null {
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

/**
 * Rounded down, exactly: a quotient of floating point may round up to the next whole one. Both whole, not negative, `divisor` not 0, `dividend` a safe integer.
 */
function quotient(dividend: number, divisor: number): number {
  return (dividend - (dividend % divisor)) / divisor;
}

/** Down to even. Whole, not negative. */
function evenAtMost(value: number): number {
  return value - (value % 2);
}

/** Sides of H.264 and H.265 are whole blocks, of which a sender may crop what is beyond its picture. */
const blockSides = { least: 8, most: 16 };

/**
 * True: a source is too large to be decoded. Either way up: long side against long side, short side against short side. A side
 * of coded video in whole blocks may reach beyond a limit by part of a block: 1088 rows are 1080 that nobody cropped.
 */
export function exceeds(size: Size, max: Size, isCoded: boolean): boolean {
  const [long, short] = [Math.max(size.width, size.height), Math.min(size.width, size.height)];
  const [longMax, shortMax] = [Math.max(max.width, max.height), Math.min(max.width, max.height)];
  return isBeyond(long, longMax, isCoded) || isBeyond(short, shortMax, isCoded);
}

function isBeyond(side: number, max: number, isCoded: boolean): boolean {
  const isInBlocks = isCoded && side % blockSides.least === 0;
  return side > (isInBlocks ? Math.ceil(max / blockSides.most) * blockSides.most : max);
}

/** Each side of what is decoded is the source's, divided by it. */
export type Reduction = 1 | 4;

/** Pictures are 4:2:0. */
const outputChromaStep = 2;
/** So that sides, corners and the halved planes of colour stay whole numbers. */
const gridPixels = 8;

/**
 * The reduction by which a JPEG may be decoded smaller, because every picture made of it is at least that much smaller.
 * A decoder does so by leaving out the fine part of each block, which is less work and, by measure, looks the same. `chromaStep`:
 * columns or rows of luma to one of chroma in the source: with more of them than the picture has, colour would be lost.
 */
export function reductionFor(source: Size, shapes: readonly PictureShape[], chromaStep: number): Reduction {
  if (shapes.length === 0 || chromaStep > outputChromaStep || !isOnGrid(source.width, source.height))
    return 1;
  return shapes.every((shape) => staysWhole(planPicture(source, shape))) ? 4 : 1;
}

/** The plan for what was decoded smaller. */
export function reducePlan({ crop, output }: PicturePlan, by: Reduction): PicturePlan {
  if (by === 1) return { crop, output };
  const { x, y, width, height } = crop;
  return { crop: { x: x / by, y: y / by, width: width / by, height: height / by }, output };
}

function staysWhole(plan: PicturePlan | null): boolean {
  if (plan === null) return false;
  const { crop, output } = plan;
  const isSmall = 4 * output.width <= crop.width && 4 * output.height <= crop.height;
  return isSmall && isOnGrid(crop.x, crop.y, crop.width, crop.height);
}

function isOnGrid(...pixels: readonly number[]): boolean {
  return pixels.every((pixel) => pixel % gridPixels === 0);
}
