/** FFmpeg as a program, end to end and on one thread: what it spends from its start to its end counts. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { runTool } from '../../test/support/debian-tools.ts';
import type { Expectation } from '../../test/pictures/reference.ts';
import { pinning, serverCore } from '../load/child.ts';
import type { ClipFormat } from '../load/natural-clips.ts';

export interface FfmpegTask {
  readonly format: ClipFormat;
  /** Of the coded stream. */
  readonly path: string;
  readonly expectation: Expectation;
  /** The less the better, from 1. */
  readonly qscale: number;
}

/** The pictures of a stream, one behind the other. */
export function ffmpegPictures(task: FfmpegTask): Promise<Buffer> {
  return runTool('ffmpeg', [...argumentsOf(task), 'pipe:1']);
}

export interface FfmpegSpent {
  /** User and system. */
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
}

/** What its run takes as a whole, on the servers' core. `framesMax` null: of the whole stream. */
export function timeFfmpeg(task: FfmpegTask, framesMax: number | null): Promise<FfmpegSpent> {
  const bound = framesMax === null ? [] : ['-frames:v', String(framesMax)];
  return timeFfmpegRun([...argumentsOf(task), ...bound, '/dev/null']);
}

/** The same of any run. */
export async function timeFfmpegRun(args: readonly string[]): Promise<FfmpegSpent> {
  const command = ['ffmpeg', ...args];
  const pinned = pinning ? ['taskset', '-c', String(serverCore), ...command] : command;
  // A shell tells what a process of its own has spent, to the millisecond; Node does not.
  const child = spawn('bash', ['-c', 'TIMEFORMAT="%3U %3S %3R"; time "$@"', 'bash', ...pinned], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, LC_ALL: 'C' },
  });
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
  const [user, system, wall] = said.trim().split(' ').map(Number);
  if (code !== 0 || user === undefined || system === undefined || wall === undefined || Number.isNaN(user))
    throw new Error(`ffmpeg: exit code ${String(code)}: ${said.trim()}`);
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
