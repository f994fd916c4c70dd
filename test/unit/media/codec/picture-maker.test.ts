/** The engine fails at the Nth of the steps that open a decoder, a scaler or an encoder, for every N. */
import assert from 'node:assert/strict';
import type { Engine } from '../../../../src/media/codec/engine.ts';
import { liveNatives } from '../../../../src/media/codec/native-census.ts';
import {
  fillScreen,
  fitScreen,
  jpegFilm,
  makeTranscoder,
  transcodeFrame,
} from '../../../support/coded-frames.ts';
import { engineTest } from '../../../support/engine-test.ts';

const noMemory = -12;
const size = { width: 64, height: 48 };

/** The Nth step fails, once; all others succeed. */
function failingEngine(engine: Engine, failsAt: number): { engine: Engine; steps: () => number } {
  let steps = 0;
  const fails = (): boolean => {
    steps += 1;
    return steps === failsAt;
  };
  class CodecContext extends engine.av.CodecContext {
    override open2Sync(...input: Parameters<Engine['av']['CodecContext']['prototype']['open2Sync']>): number {
      return fails() ? noMemory : super.open2Sync(...input);
    }
  }
  class FilterGraph extends engine.av.FilterGraph {
    override createFilter(
      ...input: Parameters<Engine['av']['FilterGraph']['prototype']['createFilter']>
    ): ReturnType<Engine['av']['FilterGraph']['prototype']['createFilter']> {
      if (fails()) throw new Error('Failed to create filter: Cannot allocate memory');
      return super.createFilter(...input);
    }

    override configSync(): number {
      return fails() ? noMemory : super.configSync();
    }
  }
  return { engine: { ...engine, av: { ...engine.av, CodecContext, FilterGraph } }, steps: () => steps };
}

engineTest('whichever step fails, its frame is dropped and the next one has its pictures', (engine) => {
  const [frame] = jpegFilm(engine, size, 1);
  assert(frame !== undefined);
  const before = liveNatives();
  const healthy = makeTranscoder(engine);
  const { pictures: good } = transcodeFrame(healthy, frame, [fitScreen, fillScreen]);
  healthy.close();
  let failures = 0;
  for (let failsAt = 1; ; failsAt += 1) {
    const failing = failingEngine(engine, failsAt);
    const transcoder = makeTranscoder(failing.engine);
    const { drop, pictures } = transcodeFrame(transcoder, frame, [fitScreen, fillScreen]);
    const isBroken = failing.steps() >= failsAt;
    if (isBroken) assert([drop, ...pictures].includes('rebuild_failed'));
    assert.deepEqual(transcodeFrame(transcoder, frame, [fitScreen, fillScreen]).pictures, good);
    transcoder.close();
    assert.deepEqual(liveNatives(), before);
    if (!isBroken) break;
    failures += 1;
  }
  assert(failures > 10, `${failures} steps were seen to fail`);
});

engineTest('when one shape cannot be made, the other one is', (engine) => {
  const [frame] = jpegFilm(engine, size, 1);
  assert(frame !== undefined);
  const transcoder = makeTranscoder(failingEngine(engine, 2).engine);
  const { pictures, drop } = transcodeFrame(transcoder, frame, [fitScreen, fillScreen]);
  assert.equal(drop, null);
  assert.equal(pictures[0], 'rebuild_failed');
  assert.equal(typeof pictures[1], 'object');
  transcoder.close();
});

engineTest(
  'without a decoder at a quarter of the size the JPEG is decoded whole, and the next one retries',
  (engine) => {
    const [frame] = jpegFilm(engine, { width: 640, height: 400 }, 1);
    assert(frame !== undefined);
    const healthy = makeTranscoder(engine);
    const good = transcodeFrame(healthy, frame, [fillScreen]);
    healthy.close();
    const transcoder = makeTranscoder(failingEngine(engine, 2).engine);
    const whole = transcodeFrame(transcoder, frame, [fillScreen]);
    assert.deepEqual([whole.drop, whole.source, typeof whole.pictures[0]], [null, good.source, 'object']);
    assert.notDeepEqual(whole.pictures, good.pictures);
    assert.deepEqual(transcodeFrame(transcoder, frame, [fillScreen]).pictures, good.pictures);
    transcoder.close();
  },
);
