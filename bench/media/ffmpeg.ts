/** Runs the FFmpeg program on one thread: its CPU time, and the pictures of a clip with their similarity to the source. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { ourPictures } from '../../test/pictures/our-pictures.ts';
import { decodeJpegs, referencePlanes, type Expectation } from '../../test/pictures/reference.ts';
import { runTool } from '../../test/support/debian-tools.ts';
import type { Planes } from '../../test/support/planes.ts';
import { planeSimilarity } from '../../test/support/ssim.ts';
import { pinnedTo, serverCore } from '../harness/child.ts';
import type { Clip, ClipFormat } from './natural-clips.ts';

interface FfmpegTask {
  readonly format: ClipFormat;
  readonly path: string;
  readonly expectation: Expectation;
  /** From 1, the best quality. */
  readonly qscale: number;
}

interface TimeSpent {
  /** User and system time. */
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
}

export function timePictures(task: FfmpegTask): Promise<TimeSpent> {
  return timeFfmpeg([...argumentsOf(task), '/dev/null']);
}

/** Runs on the servers' core. */
export async function timeFfmpeg(given: readonly string[]): Promise<TimeSpent> {
  const command = [...pinnedTo(serverCore), 'ffmpeg', ...given];
  // Bash reports a child's CPU time to the millisecond; Node does not.
  const child = spawn('bash', ['-c', 'TIMEFORMAT="%3U %3S %3R"; time "$@"', 'bash', ...command], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, LC_ALL: 'C' },
  });
  const [output, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
  const [user, system, wall] = output.trim().split(' ').map(Number);
  if (code !== 0 || user === undefined || system === undefined || wall === undefined || Number.isNaN(user))
    throw new Error(`ffmpeg: exit code ${String(code)}: ${output.trim()}`);
  return { cpuSeconds: user + system, wallSeconds: wall };
}

function argumentsOf({ format, path, expectation: { crop, output }, qscale }: FfmpegTask): string[] {
  const cropping = `crop=${crop.width}:${crop.height}:${crop.x}:${crop.y}:exact=1`;
  const scaling = `scale=${output.width}:${output.height}:flags=bicubic:out_range=pc:out_color_matrix=bt601`;
  const filters = `${cropping},${scaling},format=yuvj420p`;
  return [
    `-nostdin -v error -y -filter_threads 1 -threads 1 -f ${format} -i`.split(' '),
    [path, '-vf', filters],
    `-fps_mode passthrough -threads 1 -c:v mjpeg -q:v ${qscale} -f mjpeg`.split(' '),
  ].flat();
}

const qscales = [4, 3, 2, 1];
/** Difference between two builds of one encoder. */
const ssimTolerance = 0.0005;
const weights = { Y: 4 / 6, U: 1 / 6, V: 1 / 6 } as const;

export interface Likeness {
  /** Mean structural similarity to the scaled, unencoded source; planes are weighted by their samples. */
  readonly ssim: number;
  readonly bytes: number;
}

/**
 * Compares our pictures with FFmpeg's at the cheapest setting with at least our similarity, or else its best one: rates are only
 * comparable at equal quality.
 */
export async function compareLikeness(
  directory: string,
  clip: Clip,
  expectation: Expectation,
): Promise<{ ours: Likeness; ffmpeg: Likeness & { qscale: number } }> {
  const [reference = []] = await referencePlanes(directory, clip, [expectation]);
  const judge = async (jpegs: readonly Uint8Array[]): Promise<Likeness> => {
    const pictures = await decodeJpegs(jpegs, expectation.output);
    if (pictures.length !== reference.length)
      throw new Error(`${pictures.length} pictures of ${reference.length} frames`);
    const bytes = jpegs.reduce((sum, { length }) => sum + length, 0) / pictures.length;
    return { ssim: meanSimilarity(pictures, reference), bytes };
  };
  const [own = []] = await ourPictures(clip, [expectation]);
  const ours = await judge(own);
  let best = { ssim: -Infinity, bytes: 0, qscale: 0 };
  for (const qscale of qscales) {
    const { format, path } = clip.file;
    const task = { format, path, expectation, qscale };
    const likeness = await judge([await runTool('ffmpeg', [...argumentsOf(task), 'pipe:1'])]);
    if (likeness.ssim > best.ssim) best = { ...likeness, qscale };
    if (likeness.ssim >= ours.ssim - ssimTolerance) break;
  }
  return { ours, ffmpeg: best };
}

function meanSimilarity(pictures: readonly Planes[], reference: readonly Planes[]): number {
  const each = pictures.map((picture, index) => {
    const other = reference[index] ?? picture;
    return (['Y', 'U', 'V'] as const).reduce(
      (sum, name) => sum + weights[name] * planeSimilarity(picture[name], other[name]),
      0,
    );
  });
  return each.reduce((sum, similarity) => sum + similarity, 0) / each.length;
}
