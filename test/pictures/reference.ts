/** FFmpeg's own scaling of a source, the reference of our pictures. */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Size } from '../../src/model/call.ts';
import type { PictureShape } from '../../src/model/media/picture.ts';
import { runTool } from '../support/debian-tools.ts';
import { splitPlanes, type Planes } from '../support/planes.ts';
import type { Matrix, Range, Source } from './sources.ts';

/** A requested picture, with its crop and its size: computed by hand. */
export interface Expectation {
  readonly shape: PictureShape;
  readonly crop: Size & { readonly x: number; readonly y: number };
  readonly output: Size;
}

/** Interpretation of the source's samples; a canary interprets them wrongly. */
export interface Understanding {
  readonly range: Range;
  readonly matrix: Matrix;
}

/** Interpretation of the pictures of each format; both are BT.601. */
const colours = {
  mjpeg: { range: 'pc', pixels: 'yuvj420p' },
  h264: { range: 'tv', pixels: 'yuv420p' },
} as const;

/**
 * The filter chain that makes pictures of it, in the colours of their format. Without accurate rounding BT.709 would be up to one step
 * too dark, which a reference must not be.
 */
export function referenceFilter(
  { crop: { width, height, x, y }, output, shape }: Expectation,
  { range, matrix }: Understanding,
): string {
  const into = `in_range=${range}:in_color_matrix=${matrix}`;
  const scale = `scale=${output.width}:${output.height}:flags=bicubic+accurate_rnd`;
  const { range: outRange, pixels } = colours[shape.format ?? 'mjpeg'];
  const outof = `out_range=${outRange}:out_color_matrix=bt601,format=${pixels}`;
  return `crop=${width}:${height}:${x}:${y}:exact=1,${scale}:${into}:${outof}`;
}

/** Pictures of every frame, for each expectation. */
export async function referencePlanes(
  directory: string,
  source: Source,
  expectations: readonly Expectation[],
): Promise<Planes[][]> {
  const outputs = expectations.map((expectation, index) => {
    const path = join(directory, `reference-${index}.yuv`);
    const filter = ['-map', '0:v', '-vf', referenceFilter(expectation, source)];
    return { path, size: expectation.output, args: [...filter, ...rawVideo, path] };
  });
  const args = outputs.flatMap(({ args }) => args);
  await runTool('ffmpeg', ['-nostdin', '-v', 'error', '-y', ...source.input, ...args]);
  return outputs.map(({ path, size }) => {
    const planes = splitPlanes(readFileSync(path), size);
    rmSync(path);
    return planes;
  });
}

/** Planes that FFmpeg decodes from JPEGs of one size. */
export async function decodeJpegs(jpegs: readonly Uint8Array[], size: Size): Promise<Planes[]> {
  const input = ['-f', 'mjpeg', '-i', 'pipe:0'];
  const args = ['-v', 'error', ...input, '-pix_fmt', 'yuvj420p', ...rawVideo, 'pipe:1'];
  return splitPlanes(await runTool('ffmpeg', args, Buffer.concat(jpegs)), size);
}

const rawVideo = ['-fps_mode', 'passthrough', '-f', 'rawvideo'];
