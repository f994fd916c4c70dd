/**
 * The one place where native objects are made and freed. The garbage collector does not free their memory, so each is
 * counted from its making to its freeing, and freeing one twice is a programmer's mistake. Filters belong to their
 * graph and go with it; codecs and filter kinds are FFmpeg's own and are never freed.
 */
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

/** Native objects that are alive in this thread, by their kind. `inputs`: files that are read. */
export type NativeCensus = Readonly<Record<NativeKind, number>>;

/** The objects that are alive, each with the call that frees it. */
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
 * A context of one thread, open. `what`: the codec, for the sentence that is thrown where there is none (null), or it does not
 * open with what `set` set.
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

/** Freed with the filters in it. */
export function makeGraph({ av }: Engine): FilterGraph {
  const graph = new av.FilterGraph();
  graph.alloc();
  live.set(graph, { kind: 'graphs', free: () => graph.free() });
  return graph;
}

/** Of interleaved samples of 16 bits. Throws where the engine does not take the rates. */
export function makeResampler(
  engine: Engine,
  { rate, channels }: SampleShape,
  toRate: number,
): SoftwareResampleContext {
  const resampler = new engine.av.SoftwareResampleContext();
  const layout = channelLayoutOf(engine, channels);
  const format = engine.constants.AV_SAMPLE_FMT_S16;
  let status = resampler.allocSetOpts2(layout, format, toRate, layout, format, rate);
  live.set(resampler, { kind: 'resamplers', free: () => resampler.free() });
  if (status >= 0) status = resampler.init();
  if (status >= 0) return resampler;
  freeNatives(resampler);
  throw new Error(`FFmpeg does not resample ${rate} Hz to ${toRate} Hz: ${status}`);
}

/** Null: there is no such file, or nothing that FFmpeg can read is in it. */
export function openInput({ av }: Engine, path: string): FormatContext | null {
  const input = new av.FormatContext();
  if (input.openInputSync(`file:${path}`, null, null) < 0) return null;
  live.set(input, { kind: 'inputs', free: () => input.closeInputSync() });
  if (input.findStreamInfoSync(null) >= 0) return input;
  freeNatives(input);
  return null;
}
