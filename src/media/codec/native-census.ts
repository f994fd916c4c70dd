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

const packets = new Set<Packet>();
const frames = new Set<Frame>();
const codecContexts = new Set<CodecContext>();
const graphs = new Set<FilterGraph>();
const resamplers = new Set<SoftwareResampleContext>();
const inputs = new Set<FormatContext>();

/** Native objects that are alive in this thread, by their kind. */
export interface NativeCensus {
  readonly packets: number;
  readonly frames: number;
  readonly codecContexts: number;
  readonly graphs: number;
  readonly resamplers: number;
  /** Files that are read. */
  readonly inputs: number;
}

export function liveNatives(): NativeCensus {
  return {
    packets: packets.size,
    frames: frames.size,
    codecContexts: codecContexts.size,
    graphs: graphs.size,
    resamplers: resamplers.size,
    inputs: inputs.size,
  };
}

export function makePacket({ av }: Engine): Packet {
  const packet = new av.Packet();
  packet.alloc();
  packets.add(packet);
  return packet;
}

export function freePacket(packet: Packet): void {
  assert(packets.delete(packet), 'a packet is freed once');
  packet.free();
}

export function makeFrame({ av }: Engine): Frame {
  const frame = new av.Frame();
  frame.alloc();
  frames.add(frame);
  return frame;
}

export function freeFrame(frame: Frame): void {
  assert(frames.delete(frame), 'a frame is freed once');
  frame.free();
}

export function makeCodecContext({ av }: Engine, codec: Codec): CodecContext {
  const context = new av.CodecContext();
  context.allocContext3(codec);
  codecContexts.add(context);
  return context;
}

/** Freed where it does not open: throws then, with what it is in the sentence. */
export function openCodecContext(context: CodecContext, codec: Codec, what: string): void {
  const status = context.open2Sync(codec, null);
  if (status >= 0) return;
  freeCodecContext(context);
  throw new Error(`FFmpeg does not open ${what}: ${status}`);
}

export function freeCodecContext(context: CodecContext): void {
  assert(codecContexts.delete(context), 'a codec context is freed once');
  context.freeContext();
}

export function makeGraph({ av }: Engine): FilterGraph {
  const graph = new av.FilterGraph();
  graph.alloc();
  graphs.add(graph);
  return graph;
}

/** With the filters in it. */
export function freeGraph(graph: FilterGraph): void {
  assert(graphs.delete(graph), 'a filter graph is freed once');
  graph.free();
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
  resamplers.add(resampler);
  if (status >= 0) status = resampler.init();
  if (status >= 0) return resampler;
  freeResampler(resampler);
  throw new Error(`FFmpeg does not resample ${rate} Hz to ${toRate} Hz: ${status}`);
}

export function freeResampler(resampler: SoftwareResampleContext): void {
  assert(resamplers.delete(resampler), 'a resampler is freed once');
  resampler.free();
}

/** Null: there is no such file, or nothing that FFmpeg can read is in it. */
export function openInput({ av }: Engine, path: string): FormatContext | null {
  const input = new av.FormatContext();
  if (input.openInputSync(`file:${path}`, null, null) < 0) return null;
  inputs.add(input);
  if (input.findStreamInfoSync(null) >= 0) return input;
  closeInput(input);
  return null;
}

export function closeInput(input: FormatContext): void {
  assert(inputs.delete(input), 'an input is closed once');
  input.closeInputSync();
}
