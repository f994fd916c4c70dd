/**
 * What picture is made of a source of some size: which part of it, and how large. Pure arithmetic; scaling is the
 * codec's. Source: calls-and-media.md, Resolution.
 */
import { assert } from '../../lib/assert.ts';
import type { Size } from '../../model/call.ts';
import type { PictureShape } from '../../model/picture.ts';
import { fillCrop, type Crop } from './fill-geometry.ts';
import { fitSize } from './fit-geometry.ts';

/** `crop`, of the source, is scaled to `output`, whose sides are even where it is scaled at all. */
export interface PicturePlan {
  readonly crop: Crop;
  readonly output: Size;
}

/** Sides are whole pixels, at least 1, a screen to fill even. Null: a side of the picture would be 0. */
export function planPicture(source: Size, shape: PictureShape): PicturePlan | null {
  const whole = { x: 0, y: 0, width: source.width, height: source.height };
  if (shape.mode === 'auto') return { crop: whole, output: { width: source.width, height: source.height } };
  assert(shape.screen !== null, 'a scaled picture has a screen');
  if (shape.mode === 'fill_screen') return { crop: fillCrop(source, shape.screen), output: shape.screen };
  const output = fitSize(source, shape.screen);
  return output === null ? null : { crop: whole, output };
}
