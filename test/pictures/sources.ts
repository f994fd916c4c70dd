/** Films as a bridge would send them: coded by FFmpeg, and split into the frames of a call. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Size } from '../../src/model/call.ts';
import type { SourceFrame, VideoFrameFormat } from '../../src/model/media/picture.ts';
import { runTool } from '../support/debian-tools.ts';
import type { FilmName, FilmLibrary } from './films.ts';

export type Range = 'tv' | 'pc';
export type Matrix = 'bt601' | 'bt709';

export interface Recipe extends Size {
  readonly film: FilmName;
  readonly format: VideoFrameFormat;
  readonly pixels?: 'yuv420p' | 'yuv422p' | 'yuv444p' | 'gray';
  /** Interpretation of the samples. */
  readonly range?: Range;
  readonly matrix?: Matrix;
  /** An H.264 or H.265 stream is tagged with it. */
  readonly isTagged?: boolean;
  /** FFmpeg's options instead of the default ones, which keep nearly everything. */
  readonly coding?: readonly string[];
}

export interface Source extends Size {
  /** Options for FFmpeg to read the stream. */
  readonly input: readonly string[];
  readonly range: Range;
  readonly matrix: Matrix;
  readonly frames: readonly SourceFrame[];
}

const codings: Readonly<Record<VideoFrameFormat, readonly string[]>> = {
  h264: ['-c:v', 'libx264', '-preset', 'veryfast', '-tune', 'zerolatency', '-crf', '18', '-g', '8'],
  h265: ['-c:v', 'libx265', '-preset', 'ultrafast', '-tune', 'zerolatency', '-crf', '18', '-g', '8'],
  mjpeg: ['-c:v', 'mjpeg', '-q:v', '2'],
  i420: ['-c:v', 'rawvideo'],
};
const extras: Readonly<Record<VideoFrameFormat, readonly string[]>> = {
  h264: ['-x264-params', 'aud=1:log-level=error', '-f', 'h264'],
  h265: ['-x265-params', 'aud=1:log-level=error', '-f', 'hevc'],
  mjpeg: ['-f', 'mjpeg'],
  i420: ['-f', 'rawvideo'],
};

export async function makeSource(
  directory: string,
  kv: Pick<FilmLibrary, 'film'>,
  recipe: Recipe,
): Promise<Source> {
  const { width, height, format, pixels = 'yuv420p', matrix = 'bt601', isTagged = false } = recipe;
  const range = recipe.range ?? (format === 'mjpeg' ? 'pc' : 'tv');
  const path = join(directory, `source.${format}`);
  const scale = `scale=${width}:${height}:flags=lanczos:out_range=${range}:out_color_matrix=${matrix}`;
  const tags = isTagged || format === 'mjpeg' ? `range=${range}:colorspace=${colourSpace(matrix)}` : untagged;
  const filter = `${scale},format=${pixels},setparams=${tags}`;
  const film = ['-i', await kv.film(recipe.film), '-vf', filter];
  const output = [...(recipe.coding ?? codings[format]), ...extras[format], '-y', path];
  await runTool('ffmpeg', ['-nostdin', '-v', 'error', ...film, ...output]);
  const input = [...demuxing(recipe), '-i', path];
  if (format === 'h264' || format === 'h265')
    await checkTags(input, isTagged ? `${range},${colourSpace(matrix)}` : untaggedAsProbed[format]);
  return { width, height, input, range, matrix, frames: readFrames(path, recipe) };
}

/** Frames of a stream as `makeSource` makes it. */
export function readFrames(path: string, recipe: Pick<Recipe, 'format' | 'width' | 'height'>): SourceFrame[] {
  const { format, width, height } = recipe;
  return splitStream(readFileSync(path), recipe).map((payload) => ({
    format,
    isKeyFrame: isKey(payload, format),
    width,
    height,
    payload,
  }));
}

const untagged = 'range=unknown:colorspace=unknown';
/** H.265 without a tag for its range is interpreted as limited. */
const untaggedAsProbed = { h264: 'unknown,unknown', h265: 'tv,unknown' } as const;

function colourSpace(matrix: Matrix): string {
  return matrix === 'bt601' ? 'smpte170m' : 'bt709';
}

function demuxing({ format, width, height }: Recipe): string[] {
  if (format === 'i420') return ['-f', 'rawvideo', '-pix_fmt', 'yuv420p', '-s', `${width}x${height}`];
  return ['-f', format === 'h265' ? 'hevc' : format];
}

/** A stream without the intended tags would prove nothing. */
async function checkTags(input: readonly string[], meant: string): Promise<void> {
  const entries = ['-show_entries', 'stream=color_range,color_space', '-of', 'csv=p=0'];
  const said = (await runTool('ffprobe', ['-v', 'error', ...input, ...entries])).toString().trim();
  if (said !== meant) throw new Error(`the stream says ${said}, not ${meant}`);
}

/** First bytes of a frame: an access unit delimiter, or a JPEG's start right after another's end. */
const beginnings = {
  h264: Buffer.from([0, 0, 0, 1, 0x09]),
  h265: Buffer.from([0, 0, 0, 1, 0x46]),
  mjpeg: Buffer.from([0xff, 0xd8, 0xff]),
} as const;

function splitStream(
  stream: Buffer,
  { format, width, height }: Pick<Recipe, 'format' | 'width' | 'height'>,
): Uint8Array<ArrayBuffer>[] {
  const frames: Uint8Array<ArrayBuffer>[] = [];
  let start = 0;
  while (start < stream.length) {
    const end =
      format === 'i420'
        ? start + width * height + 2 * Math.ceil(width / 2) * Math.ceil(height / 2)
        : stream.indexOf(beginnings[format], start + 1);
    frames.push(new Uint8Array(stream.subarray(start, end === -1 ? stream.length : end)));
    start = end === -1 ? stream.length : end;
  }
  return frames;
}

/** Parameter sets stand before key frames only. */
function isKey(payload: Uint8Array, format: VideoFrameFormat): boolean {
  if (format !== 'h264' && format !== 'h265') return true;
  return Buffer.from(payload.buffer).includes(Buffer.from([0, 0, 1, format === 'h264' ? 0x67 : 0x42]));
}
