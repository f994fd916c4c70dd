/**
 * Takes the wanted part of a source picture, scales it once and gives it the colours of a JPEG: full range, BT.601,
 * 4:2:0. A chain of filters does it, since libswscale alone crops only what was copied before.
 * Source: calls-and-media.md, Resolution.
 */
import type { Size } from '../../model/call.ts';
import type { PicturePlan } from '../geometry/picture-plan.ts';
import type { Engine } from './engine.ts';
import { FilterChain, type FilterStep, type PictureTraits } from './filter-chain.ts';
import { isLarge } from './large-picture.ts';

/** Throws what the engine throws. */
export function buildScaler(
  engine: Engine,
  source: PictureTraits,
  { crop, output }: PicturePlan,
): FilterChain {
  const isWhole = crop.width === source.width && crop.height === source.height;
  const cropping: FilterStep = ['crop', `${crop.width}:${crop.height}:${crop.x}:${crop.y}:exact=1`];
  return FilterChain.build(engine, source, [
    // What a camera wrote beside the pixels, its place among it, is none of the device's business.
    ['sidedata', 'mode=delete'],
    ...(isWhole ? [] : [cropping]),
    [
      'scale',
      `${output.width}:${output.height}:flags=${methodOf(crop, output)}:out_range=full:out_color_matrix=bt601`,
    ],
    ['format', 'pix_fmts=yuvj420p'],
  ]);
}

/**
 * Without accurate rounding a scaled grey turns green by one step; unscaled it is right, and twice as fast. A large picture
 * of half the size or less is averaged, which on photographs looks the same there and takes half the time.
 */
function methodOf(crop: Size, output: Size): string {
  if (crop.width === output.width && crop.height === output.height) return 'bicubic';
  const isHalf = 2 * output.width <= crop.width && 2 * output.height <= crop.height;
  return isHalf && isLarge(output) ? 'area+accurate_rnd' : 'bicubic+accurate_rnd';
}
