/**
 * The steps of a picture, each alone and all together, on this thread and through a worker. Needs FFmpeg, which codes the
 * natural clip.
 */
import type { Bench } from 'tinybench';
import { SystemClock } from '../../src/lib/system-clock.ts';
import { CodedSource, type FrameSource, JpegSource } from '../../src/media/codec/frame-source.ts';
import { openEngine, type Engine } from '../../src/media/codec/engine.ts';
import { traitsOf, type FilterChain } from '../../src/media/codec/filter-chain.ts';
import { FrameTranscoder } from '../../src/media/codec/frame-transcoder.ts';
import { JpegEncoder, buildScaler } from '../../src/media/codec/picture-maker.ts';
import type { SourceFrame } from '../../src/model/media/picture.ts';
import type { Transcoder } from '../../src/core/ports/transcoders.ts';
import { describeFrame } from '../../src/media/geometry/source-frame.ts';
import { TranscoderPool } from '../../src/media/transcoding/transcoder-pool.ts';
import { ofLandscape, ofPortrait } from '../../test/pictures/expectations.ts';
import type { Expectation } from '../../test/pictures/reference.ts';
import { NaturalClips } from '../load/natural-clips.ts';
import { ownSizeH264, takeFrame } from '../../test/support/coded-frames.ts';

const settings = { quality: 80, maxFps: 15, sourceMax: { width: 1920, height: 1080 } };
const landscape = { width: 640, height: 480 };
const portrait = { width: 240, height: 320 };

/** As for a bridge that asks for it. */
const asH264: Expectation = {
  shape: ownSizeH264,
  crop: { x: 0, y: 0, ...landscape },
  output: landscape,
};

type Free = () => void | Promise<void>;

export async function register(bench: Bench): Promise<() => Promise<void>> {
  const opened = await openEngine();
  if (!opened.ok) throw new Error(opened.error);
  const engine = opened.value;
  const clips = new NaturalClips({ framesPerPhotograph: 12, repeats: 1 });
  const [large, small, coded] = await Promise.all([
    clips.clip('mjpeg', landscape).then(({ frames }) => frames),
    clips.clip('mjpeg', portrait).then(({ frames }) => frames),
    clips.clip('h264', landscape).then(({ frames }) => frames),
  ]);
  clips.remove();
  const frees: Free[] = [
    addDecoding(bench, 'MJPEG', new JpegSource(engine, settings.sourceMax), large),
    addDecoding(bench, 'H.264', new CodedSource(engine, 'h264', settings.sourceMax), coded),
  ];
  for (const [frames, expectations] of [
    [large, ofLandscape.slice(1)],
    [small, ofPortrait.slice(1, 2)],
  ] as const)
    for (const expectation of expectations)
      frees.push(
        addScalingAndEncoding(bench, engine, frames, expectation),
        addWhole(bench, engine, 'MJPEG', frames, expectation),
      );
  for (const expectation of ofLandscape.slice(1))
    frees.push(addWhole(bench, engine, 'H.264', coded, expectation));
  frees.push(addWhole(bench, engine, 'MJPEG', large, asH264));
  frees.push(await addWorker(bench, large));
  return async () => {
    for (const free of frees) await free();
  };
}

function addDecoding(
  bench: Bench,
  format: string,
  source: FrameSource,
  frames: readonly SourceFrame[],
): Free {
  const next = inTurn(frames);
  bench.add(`pictures: decode ${format} 640x480`, () => {
    const frame = next();
    if (source.take(frame, describeFrame(frame), []) !== 'decoded')
      throw new Error('a frame was not decoded');
  });
  return () => source.close();
}

function addScalingAndEncoding(
  bench: Bench,
  engine: Engine,
  frames: readonly SourceFrame[],
  { crop, output }: Expectation,
): Free {
  const source = new JpegSource(engine, settings.sourceMax);
  const [first] = frames;
  if (first === undefined || source.take(first, describeFrame(first), []) !== 'decoded')
    throw new Error('a clip has frames');
  const scaler: FilterChain = buildScaler(engine, traitsOf(source.frame), { crop, output }, 'mjpeg');
  const encoder = JpegEncoder.open(engine, output, settings.quality);
  const name = `${first.width}x${first.height} to ${output.width}x${output.height}`;
  bench.add(`pictures: crop and scale ${name}`, () => {
    if (scaler.filter(source.frame) === null) throw new Error('a picture was not scaled');
  });
  const scaled = scaler.filter(source.frame);
  if (scaled === null) throw new Error('a picture was not scaled');
  bench.add(`pictures: encode ${output.width}x${output.height}`, () => {
    if (encoder.encode(scaled) === null) throw new Error('a picture was not encoded');
  });
  return () => {
    encoder.close();
    scaler.close();
    source.close();
  };
}

function addWhole(
  bench: Bench,
  engine: Engine,
  format: string,
  frames: readonly SourceFrame[],
  { shape, output }: Expectation,
): Free {
  const transcoder = new FrameTranscoder(engine, settings);
  const next = inTurn(frames);
  const [first] = frames;
  const made = shape.format === 'h264' ? 'H.264 of ' : '';
  const name = `${format} ${first?.width}x${first?.height} to ${made}${output.width}x${output.height}`;
  bench.add(`pictures: whole, ${name}`, () => {
    if (typeof takeFrame(transcoder, next(), [shape]).pictures[0] !== 'object') throw new Error('no picture');
  });
  return () => transcoder.close();
}

/** The last case is the same as a whole one on this thread. What is dropped at once shows what the way itself takes. */
async function addWorker(bench: Bench, frames: readonly SourceFrame[]): Promise<Free> {
  const ignore = (): void => undefined;
  const log = { debug: ignore, info: ignore, warn: ignore, error: ignore };
  const deps = { clock: new SystemClock(), log, onWedged: ignore };
  const pool = await TranscoderPool.open({ ...settings, ...deps, threads: 1, loadMax: 1 });
  const transcoder = openSession(pool);
  const [, fit] = ofLandscape;
  const shapes = fit === undefined ? [] : [fit.shape];
  const next = inTurn(frames);
  bench.add('pictures: to a worker and back, nothing done', async () => {
    const { payload, ...frame } = next();
    // Without its start a picture is not found.
    const cut = { ...frame, payload: payload.slice(2) };
    if ((await transcoder.take(cut, shapes, describeFrame(cut))).drop !== 'undecodable')
      throw new Error('it was not dropped');
  });
  bench.add('pictures: through a worker, MJPEG 640x480 to 320x240', async () => {
    const { payload, ...frame } = next();
    const fresh = { ...frame, payload: payload.slice() };
    const { pictures } = await transcoder.take(fresh, shapes, describeFrame(fresh));
    if (typeof pictures[0] !== 'object') throw new Error('no picture');
  });
  return async () => {
    transcoder.close();
    await pool.close();
  };
}

function openSession(pool: TranscoderPool): Transcoder {
  const opened = pool.open({ request: { width: 16, height: 16 }, maxFps: 1 });
  if (!opened.ok) throw new Error(`the worker takes no session: ${opened.error}`);
  return opened.value;
}

/** A clip over and over: its first frame is a key frame. */
function inTurn(frames: readonly SourceFrame[]): () => SourceFrame {
  let played = 0;
  return () => {
    const frame = frames[played++ % frames.length];
    if (frame === undefined) throw new Error('a clip has frames');
    return frame;
  };
}
