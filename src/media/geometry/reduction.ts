/**
 * The reduction by which a JPEG may be decoded smaller, because every picture made of it is at least that much smaller.
 * A decoder does so by leaving out the fine part of each block, which is less work and, by measure, looks the same.
 */
import type { Size } from '../../model/call.ts';
import type { PictureShape } from '../../model/picture.ts';
import { planPicture, type PicturePlan } from './picture-plan.ts';

/** Each side of what is decoded is the source's, divided by it. */
export type Reduction = 1 | 4;

/** So that sides, corners and the halved planes of colour stay whole numbers. */
const gridPixels = 8;

export function reductionFor(source: Size, shapes: readonly PictureShape[]): Reduction {
  if (shapes.length === 0 || !isOnGrid(source.width, source.height)) return 1;
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
