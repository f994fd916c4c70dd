/**
 * The canary's worker: the real one with planted leaks. Every 25th picture leaks two frames, one counted at its allocation and
 * one not; every 250th audio packet leaks a resampler. At 300 pictures a second this is 36 MiB a second; the shortest canary
 * compares samples that are two seconds apart.
 */
import { assert } from '../../../src/lib/assert.ts';
import { openEngine, type Engine } from '../../../src/media/codec/engine.ts';
import { makeFrame, makeResampler } from '../../../src/media/codec/native-census.ts';
import { i420Bytes } from '../../../src/media/geometry/source-frame.ts';
import type { MessagePort } from 'node:worker_threads';
import { serveTasks } from '../../../src/media/transcoding/task-port.ts';
import { transcoderTasks } from '../../../src/media/transcoding/transcoder-worker.ts';
import type { FrameResult } from '../../../src/model/media/picture.ts';
import type { SoundResult } from '../../../src/model/media/sound.ts';
import type { FrameTask, SoundTask } from '../../../src/media/transcoding/transcoder-task.ts';

const framesBetweenLeaks = 25;
const packetsBetweenLeaks = 250;
const resampledRate = 16_000;
const size = { width: 1920, height: 1080 };
const opening = openEngine();
/** Keeps references, so that the garbage collector frees nothing. */
const lost: unknown[] = [];
let frames = 0;
let packets = 0;

export function serve(port: MessagePort): void {
  serveTasks({ ...transcoderTasks, transcodeFrame, transcodeSound }, port);
}

async function transcodeFrame(task: FrameTask): Promise<FrameResult> {
  const engine = await opening;
  assert(engine.ok, 'the soak has an engine');
  frames += 1;
  if (frames % framesBetweenLeaks === 0) lost.push(makeFrame(engine.value), loseUncounted(engine.value));
  return transcoderTasks.transcodeFrame(task);
}

async function transcodeSound(task: SoundTask): Promise<SoundResult> {
  const engine = await opening;
  assert(engine.ok, 'the soak has an engine');
  packets += 1;
  if (packets % packetsBetweenLeaks === 0)
    lost.push(makeResampler(engine.value, task.assumed, resampledRate));
  return transcoderTasks.transcodeSound(task);
}

/** Leaks a frame whose pixels FFmpeg has copied. */
function loseUncounted(engine: Engine): unknown {
  const view = new engine.av.Frame();
  view.alloc();
  view.width = size.width;
  view.height = size.height;
  view.format = engine.constants.AV_PIX_FMT_YUV420P;
  view.fromBuffer(Buffer.alloc(i420Bytes(size), frames));
  const copy = new engine.av.Frame();
  copy.alloc();
  assert(copy.ref(view) >= 0, 'a frame is copied');
  view.free();
  return copy;
}
