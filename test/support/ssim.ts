/**
 * Structural similarity of two planes after Wang and others, "Image quality assessment: from error visibility to
 * structural similarity" (2004): the mean over windows of 8 x 8 samples, each 4 further than the last.
 */
import type { Plane } from './planes.ts';

const windowSide = 8;
const windowStep = 4;
const sampleMax = 255;
const stabilityOfMeans = (0.01 * sampleMax) ** 2;
const stabilityOfVariances = (0.03 * sampleMax) ** 2;

/** From -1 to 1 (equal). Both planes have one size, at least 8 on each side. */
export function planeSimilarity(ours: Plane, reference: Plane): number {
  const { width, height } = ours;
  if (width !== reference.width || height !== reference.height) throw new Error('planes of two sizes');
  if (Math.min(width, height) < windowSide) throw new Error('planes smaller than a window');
  let sum = 0;
  let windows = 0;
  for (let top = 0; top + windowSide <= height; top += windowStep)
    for (let left = 0; left + windowSide <= width; left += windowStep) {
      sum += windowSimilarity(ours.samples, reference.samples, top * width + left, width);
      windows++;
    }
  return sum / windows;
}

function windowSimilarity(xs: Uint8Array, ys: Uint8Array, start: number, stride: number): number {
  let sumX = 0;
  let sumY = 0;
  let sumSquares = 0;
  let sumXY = 0;
  for (let row = 0; row < windowSide; row++)
    for (let at = start + row * stride; at < start + row * stride + windowSide; at++) {
      const x = xs[at] ?? 0;
      const y = ys[at] ?? 0;
      sumX += x;
      sumY += y;
      sumSquares += x * x + y * y;
      sumXY += x * y;
    }
  const count = windowSide * windowSide;
  const meanX = sumX / count;
  const meanY = sumY / count;
  const variances = (sumSquares - count * (meanX * meanX + meanY * meanY)) / (count - 1);
  const covariance = (sumXY - count * meanX * meanY) / (count - 1);
  const ofMeans = (2 * meanX * meanY + stabilityOfMeans) / (meanX * meanX + meanY * meanY + stabilityOfMeans);
  return (ofMeans * (2 * covariance + stabilityOfVariances)) / (variances + stabilityOfVariances);
}
