/** Our own pictures of a source, made as a worker makes them. */
import assert from 'node:assert/strict';
import { openEngine } from '../../src/media/codec/engine.ts';
import { FrameTranscoder } from '../../src/media/codec/frame-transcoder.ts';
import type { Size } from '../../src/model/call.ts';
import type { Expectation } from './reference.ts';
import type { Source } from './sources.ts';
import { transcodeFrame } from '../support/coded-frames.ts';

/** On libjpeg's scale; the server's default. */
const defaultQuality = 80;
const sourceMax: Size = { width: 1920, height: 1080 };

/** The JPEGs of every frame for each expectation; asserts that none is missing and that each has its size. */
export async function ourPictures(
  source: Pick<Source, 'frames' | 'width' | 'height'>,
  expectations: readonly Expectation[],
  quality = defaultQuality,
): Promise<Uint8Array[][]> {
  const engine = await openEngine();
  assert(engine.ok, engine.ok ? '' : engine.error);
  const transcoder = new FrameTranscoder(engine.value, { quality, maxFps: 15, sourceMax });
  const shapes = expectations.map(({ shape }) => shape);
  const jpegs = expectations.map((): Uint8Array[] => []);
  for (const frame of source.frames) {
    const result = transcodeFrame(transcoder, frame, shapes);
    assert.deepEqual(
      { drop: result.drop, source: result.source },
      { drop: null, source: { width: source.width, height: source.height } },
    );
    for (const [index, { output }] of expectations.entries()) {
      const picture = result.pictures[index];
      assert(typeof picture === 'object', JSON.stringify(picture));
      assert.deepEqual(picture.size, output);
      jpegs[index]?.push(picture.bytes);
    }
  }
  transcoder.close();
  return jpegs;
}
