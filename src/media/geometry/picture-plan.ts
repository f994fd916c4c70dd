/**
 * Plans the picture made from a source of some size: the crop, the output size, and whether a JPEG can be decoded at reduced size. Pure
 * arithmetic; the codec scales. Source: calls-and-media.md, Resolution; backend-server-api.md, Downlink video resolution modes.
 */
import { assert } from '../../lib/assert.ts';
import type { Size } from '../../model/call.ts';
import type { PictureFormat, PictureShape } from '../../model/media/picture.ts';

/** `crop`, in source pixels, is scaled to `output`, whose sides are even if it is scaled. */
export interface PicturePlan {
  readonly crop: Crop;
  readonly output: Size;
}

/** Sides are integers, at least 1; a screen to fill is even. Null: a side of the picture would be 0. */
export function planPicture(source: Size, shape: PictureShape): PicturePlan | null {
  if (shape.mode === 'auto') return planOwnSize(source, shape.format);
  assert(shape.screen !== null, 'a scaled picture has a screen');
  if (shape.mode === 'fill_screen') return { crop: fillCrop(source, shape.screen), output: shape.screen };
  const output = fitSize(source, shape.screen);
  return output === null ? null : { crop: { x: 0, y: 0, ...source }, output };
}

/** H.264 needs even sides: the last column or row of an odd source is cropped. */
function planOwnSize({ width, height }: Size, format: PictureFormat = 'mjpeg'): PicturePlan | null {
  const output =
    format === 'mjpeg' ? { width, height } : { width: evenAtMost(width), height: evenAtMost(height) };
  return output.width === 0 || output.height === 0 ? null : { crop: { x: 0, y: 0, ...output }, output };
}

/** Part of a picture; `x` and `y`, both even, are its top left corner. */
export interface Crop extends Size {
  readonly x: number;
  readonly y: number;
}

/**
 * The part of a source that fills a screen: the largest one of the screen's aspect, from the middle. One scale, up or down, turns it
 * into the screen's size. Sides are integers, at least 1. The scale is max(sw/w, sh/h); a side of the crop is the even number closest to
 * sw/scale or sh/scale within the source, of two as close the lower; at least 2, or the source's side.
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

/** `dividend / divisor`: the exact side. */
function cropSide(dividend: number, divisor: number, sourceSide: number): number {
  const nearestEven = 2 * quotient(dividend + divisor - 1, 2 * divisor);
  return Math.min(Math.max(Math.min(nearestEven, evenAtMost(sourceSide)), 2), sourceSide);
}

function cropOffset(sourceSide: number, side: number): number {
  return evenAtMost(quotient(sourceSide - side, 2));
}

/**
 * The size of a picture that is scaled down to fit within a screen: all of the source, its aspect kept, no bars. Sides are integers, at
 * least 1. The scale is min(1, sw/w, sh/h); each side is rounded down, then down to even. Null: a side would be 0.
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
 * Integer division, exact: a floating point quotient may round up to the next integer. Both are integers, not negative; `divisor` is not
 * 0, `dividend` a safe integer.
 */
function quotient(dividend: number, divisor: number): number {
  return (dividend - (dividend % divisor)) / divisor;
}

/** Rounds down to even. `value`: an integer, not negative. */
function evenAtMost(value: number): number {
  return value - (value % 2);
}

/** Sides of H.264 and H.265 are whole blocks; senders may crop the rest. */
const blockSides = { least: 8, most: 16 };

/**
 * The source is too large to decode, in either orientation: long sides and short sides are compared. A side of coded video may exceed a
 * limit by part of a block: 1088 rows are 1080 without cropping.
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

/** Factor by which the sides of the decoded picture are smaller than the source's. */
export type Reduction = 1 | 4;

const outputChromaStep = 2;
/** Keeps sides, corners and subsampled colour planes at integers. */
const gridPixels = 8;

/**
 * The reduction at which a JPEG may be decoded, because every picture made from it is at least that much smaller. A decoder omits the
 * fine part of each block, which is less work and, measured, looks the same. `chromaStep`: columns or rows of luma per one of chroma in
 * the source; with more than in the picture, colour would be lost.
 */
export function reductionFor(source: Size, shapes: readonly PictureShape[], chromaStep: number): Reduction {
  if (shapes.length === 0 || chromaStep > outputChromaStep || !isOnGrid(source.width, source.height))
    return 1;
  return shapes.every((shape) => staysWhole(planPicture(source, shape))) ? 4 : 1;
}

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
