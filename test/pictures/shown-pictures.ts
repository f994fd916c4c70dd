/** The pictures that this server and FFmpeg show of one stream, as planes, for streams that no encoder makes by itself. */
import { spawnSync } from 'node:child_process';
import type { Engine } from '../../src/media/codec/engine.ts';
import { describeFrame } from '../../src/media/geometry/source-frame.ts';
import { VideoQueue, type WaitingVideo } from '../../src/media/relay/media-queues.ts';
import type { PictureShape, SourceFrame, VideoFrameFormat } from '../../src/model/media/picture.ts';
import type { Size } from '../../src/model/call.ts';
import type { DebianTool } from '../support/debian-tools.ts';
import { makeTranscoder, sourceFrame } from '../support/coded-frames.ts';
import { planeNames, splitPlanes, type Plane, type Planes } from '../support/planes.ts';

interface QueuedFrame extends WaitingVideo {
  readonly frame: SourceFrame;
}

/** JPEGs made of the messages of a bridge, in order, as a call makes them. */
export function jpegsShown(
  engine: Engine,
  format: VideoFrameFormat,
  messages: readonly Uint8Array[],
  shape: PictureShape,
): Uint8Array[] {
  const transcoder = makeTranscoder(engine);
  const queue = new VideoQueue<QueuedFrame>(() => undefined);
  queue.requireKey();
  const shown = messages.flatMap((message) => {
    const frame = sourceFrame(format, message);
    const description = describeFrame(frame);
    const { isKey, content } = description;
    queue.push({ format, isKey, isPicture: content !== 'parameters', payload: frame.payload, frame });
    if (queue.shift() === undefined) return [];
    const [picture] = transcoder.transcode(frame, [shape], description).pictures;
    return typeof picture === 'object' ? [picture.bytes] : [];
  });
  transcoder.close();
  return shown;
}

/** Planes of 4:2:0 and full range that FFmpeg makes of a stream, whatever it complains about. Empty: it shows nothing. */
export function planesShown(
  input: readonly string[],
  stream: Uint8Array,
  size: Size,
  filters: readonly string[] = [],
): Planes[] {
  const scale = `scale=${size.width}:${size.height}:flags=bicubic+accurate_rnd:out_range=pc:out_color_matrix=bt601`;
  const filter = [...filters, scale, 'format=yuvj420p'].join(',');
  const output = ['-an', '-vf', filter, '-fps_mode', 'passthrough', '-f', 'rawvideo', 'pipe:1'];
  const args = ['-nostdin', '-v', 'quiet', ...input, '-i', 'pipe:0', ...output];
  return splitPlanes(outputOf('ffmpeg', args, stream), size);
}

/** Lowest signal-to-noise ratio of each plane over pairs of pictures, in dB; 99: they are the same. */
export function leastRatios(ours: readonly Planes[], theirs: readonly Planes[]): number[] {
  const pairs = ours
    .slice(0, theirs.length)
    .map((planes, index) => [planes, theirs[index] ?? planes] as const);
  return planeNames.map((name) => Math.min(...pairs.map(([one, other]) => ratio(one[name], other[name]))));
}

function ratio(one: Plane, other: Plane): number {
  let squares = 0;
  for (const [at, sample] of one.samples.entries()) squares += (sample - (other.samples[at] ?? 0)) ** 2;
  return squares === 0 ? 99 : Math.round(100 * Math.log10((255 ** 2 * one.samples.length) / squares)) / 10;
}

/** The output of a tool, whatever it complains about. */
export function outputOf(
  tool: DebianTool,
  args: readonly string[],
  input: Uint8Array = new Uint8Array(),
): Buffer {
  return spawnSync(tool, args, { input, maxBuffer: 2 ** 30 }).stdout;
}
