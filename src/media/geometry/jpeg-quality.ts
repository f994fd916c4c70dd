/** The quality of JPEGs, on libjpeg's scale, as FFmpeg's MJPEG encoder takes it. Source: calls-and-media.md, Resolution. */

/**
 * For each qscale from 1, the least quality it is good for; below the last it is 31. Measured: the largest qscale
 * whose mean SSIM is in no plane, of Y, U and V, below that of libjpeg (4:2:0, from RGB, accurate DCT) at this
 * quality, on natural pictures of 640x480, 320x240, 240x320 and 74x100. A qscale is a whole number, so that several
 * qualities share one; from 96 on the best of them is no longer libjpeg's equal.
 */
const leastQualities = [
  89, 82, 73, 65, 57, 48, 41, 36, 32, 28, 25, 23, 21, 19, 18, 16, 16, 15, 14, 13, 13, 12, 12, 11, 11, 11, 10,
  10, 10, 9,
];
const qscaleMax = 31;

/** FFmpeg's qscale, 1-31, the less the better. `quality`: 1-100. */
export function quantiserOf(quality: number): number {
  const index = leastQualities.findIndex((least) => quality >= least);
  return index === -1 ? qscaleMax : index + 1;
}
