import assert from 'node:assert/strict';
import { FrameCoder } from '../../../../src/tools/bridge/frame-coder.ts';
import { testFilm } from '../../../../src/tools/bridge/test-picture.ts';
import { liveNatives } from '../../../../src/media/codec/native-census.ts';
import type { Engine } from '../../../../src/media/codec/engine.ts';
import type { Size } from '../../../../src/model/call.ts';
import type { PictureFormat } from '../../../../src/model/media/picture.ts';
import { describeFrame } from '../../../../src/media/geometry/source-frame.ts';
import { engineTest } from '../../../support/engine-test.ts';

const [landscape, portrait] = [
  { width: 320, height: 240 },
  { width: 240, height: 320 },
];

/** Encodes the frames and reads size and key flag from the payloads. */
function coded(engine: Engine, format: PictureFormat, frames: readonly (readonly [Size, boolean])[]) {
  const coder = new FrameCoder(engine, format, 15);
  const film = testFilm();
  const made = frames.map(([size, wantsKeyFrame]) => {
    const frame = coder.code(film.pictureAt(0, size), size, wantsKeyFrame);
    assert.ok(frame !== null);
    const { isKeyFrame, payload: bytes } = frame;
    const payload = new Uint8Array(bytes);
    const { size: told, isKey } = describeFrame({ format, isKeyFrame, ...size, payload });
    assert.equal(isKey, isKeyFrame);
    return { isKey, told, bytes: payload.length };
  });
  coder.close();
  return made;
}

engineTest('H.264 has key frames at the start, on request, and at each new size', (engine) => {
  const frames = coded(engine, 'h264', [
    [landscape, true],
    [landscape, false],
    [landscape, true],
    [portrait, false],
    [portrait, false],
    [landscape, false],
  ]);
  assert.deepEqual(
    frames.map(({ isKey }) => isKey),
    [true, false, true, true, false, true],
  );
  assert.deepEqual(
    frames.flatMap(({ told }) => (told === null ? [] : [told.width])),
    [320, 320, 240, 320],
  );
  assert.ok((frames[1]?.bytes ?? 0) < (frames[0]?.bytes ?? 0), 'the others are smaller');
});

engineTest('MJPEG has a JPEG per frame, of the current size', (engine) => {
  const frames = coded(engine, 'mjpeg', [
    [landscape, true],
    [portrait, false],
  ]);
  assert.deepEqual(
    frames.map(({ told }) => told),
    [landscape, portrait],
  );
});

engineTest('a closed coder leaves no native objects', (engine) => {
  const before = liveNatives();
  coded(engine, 'h264', [
    [landscape, true],
    [portrait, false],
  ]);
  coded(engine, 'mjpeg', [[landscape, true]]);
  assert.deepEqual(liveNatives(), before);
});
