/** One picture as sharp makes it, on one thread and without keeping anything. */
import sharp from 'sharp';
import type { Expectation } from '../../test/pictures/reference.ts';

sharp.concurrency(1);
sharp.cache(false);

/** It may decode at a reduced size, as it does where nobody forbids it; `cubic` is what FFmpeg calls bicubic. */
export function sharpPicture(
  jpeg: Uint8Array,
  { shape, output }: Expectation,
  quality: number,
): Promise<Buffer> {
  const { width, height } = output;
  const fit = shape.mode === 'fill_screen' ? 'cover' : 'fill';
  return sharp(jpeg).resize(width, height, { fit, kernel: 'cubic' }).jpeg({ quality }).toBuffer();
}
