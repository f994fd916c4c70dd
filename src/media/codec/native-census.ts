/**
 * The only place that creates and frees native objects. The garbage collector does not free their memory, so each is counted until it is
 * freed; freeing one twice is a programming error. Filters belong to their graph and are freed with it; codecs and filter kinds belong
 * to FFmpeg and are never freed.
 */
import type { AVSampleFormat } from 'node-av/constants';
import type {
  Codec,
  CodecContext,
  FilterGraph,
  FormatContext,
  Frame,
  Packet,
  SoftwareResampleContext,
} from 'node-av/lib';
import { assert } from '../../lib/assert.ts';
import type { SampleShape } from '../../model/media/sound.ts';
import { channelLayoutOf, type Engine } from './engine.ts';

type NativeKind = 'packets' | 'frames' | 'codecContexts' | 'graphs' | 'resamplers' | 'inputs';
type Native = CodecContext | FilterGraph | FormatContext | Frame | Packet | SoftwareResampleContext;

/** Number of live native objects of this thread, by kind. `inputs`: files being read. */
export type NativeCensus = Readonly<Record<NativeKind, number>>;

const live = new Map<Native, { readonly kind: NativeKind; readonly free: () => void }>();

export function liveNatives(): NativeCensus {
  const census = { packets: 0, frames: 0, codecContexts: 0, graphs: 0, resamplers: 0, inputs: 0 };
  for (const { kind } of live.values()) census[kind] += 1;
  return census;
}

export function freeNatives(...natives: readonly Native[]): void {
  for (const native of natives) {
    const known = live.get(native);
    assert(known !== undefined, 'a native object is freed once');
    live.delete(native);
    known.free();
  }
}

export function makePacket({ av }: Engine): Packet {
  const packet = new av.Packet();
  packet.alloc();
  live.set(packet, { kind: 'packets', free: () => packet.free() });
  return packet;
}

export function makeFrame({ av }: Engine): Frame {
  const frame = new av.Frame();
  frame.alloc();
  live.set(frame, { kind: 'frames', free: () => frame.free() });
  return frame;
}

/**
 * Opens a single-threaded context. Throws a sentence that names `what` if `codec` is null, or does not open with the settings of `set`.
 */
export function openCodec(
  { av }: Engine,
  codec: Codec | null,
  what: string,
  set: (context: CodecContext) => void,
): CodecContext {
  if (codec === null) throw new Error(`FFmpeg has no ${what}`);
  const context = new av.CodecContext();
  context.allocContext3(codec);
  live.set(context, { kind: 'codecContexts', free: () => context.freeContext() });
  context.threadCount = 1;
  set(context);
  const status = context.open2Sync(codec, null);
  if (status >= 0) return context;
  freeNatives(context);
  throw new Error(`FFmpeg does not open its ${what}: ${status}`);
}

/** Freeing it frees its filters. */
export function makeGraph({ av }: Engine): FilterGraph {
  const graph = new av.FilterGraph();
  graph.alloc();
  live.set(graph, { kind: 'graphs', free: () => graph.free() });
  return graph;
}

/** Makes interleaved 16-bit samples, by default of such samples. Throws if the engine does not support the rates. */
export function makeResampler(
  engine: Engine,
  { rate, channels }: SampleShape,
  toRate: number,
  fromFormat: AVSampleFormat = engine.constants.AV_SAMPLE_FMT_S16,
): SoftwareResampleContext {
  const resampler = new engine.av.SoftwareResampleContext();
  const layout = channelLayoutOf(engine, channels);
  const format = engine.constants.AV_SAMPLE_FMT_S16;
  let status = resampler.allocSetOpts2(layout, format, toRate, layout, fromFormat, rate);
  live.set(resampler, { kind: 'resamplers', free: () => resampler.free() });
  if (status >= 0) status = resampler.init();
  if (status >= 0) return resampler;
  freeNatives(resampler);
  throw new Error(`FFmpeg does not resample ${rate} Hz to ${toRate} Hz: ${status}`);
}

/** Null: the file does not exist, or FFmpeg cannot read it. */
export function openInput({ av }: Engine, path: string): FormatContext | null {
  const input = new av.FormatContext();
  if (input.openInputSync(`file:${path}`, null, null) < 0) return null;
  live.set(input, { kind: 'inputs', free: () => input.closeInputSync() });
  if (input.findStreamInfoSync(null) >= 0) return input;
  freeNatives(input);
  return null;
}
