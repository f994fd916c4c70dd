import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openFrameCoder, type PlayedFormat } from '../../../../src/tools/bridge/frame-coder.ts';
import { testFilm } from '../../../../src/tools/bridge/test-picture.ts';
import { openEngine } from '../../../../src/media/codec/engine.ts';
import { liveNatives } from '../../../../src/media/codec/native-census.ts';
import type { Size } from '../../../../src/model/call.ts';
import { describeFrame } from '../../../../src/media/geometry/source-frame.ts';

const opened = await openEngine();
const engine = opened.ok ? opened.value : null;
const skip = opened.ok ? false : opened.error;
const [landscape, portrait] = [
  { width: 320, height: 240 },
  { width: 240, height: 320 },
];

/** What the payloads themselves say. */
function coded(format: PlayedFormat, frames: readonly (readonly [Size, boolean])[]) {
  const coder = openFrameCoder(engine, format, 15);
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

test('H.264 has a key frame first, where one is wanted, and where the size changes', { skip }, () => {
  const frames = coded('h264', [
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

test('MJPEG is a JPEG a frame, of the size of the moment', { skip }, () => {
  const frames = coded('mjpeg', [
    [landscape, true],
    [portrait, false],
  ]);
  assert.deepEqual(
    frames.map(({ told }) => told),
    [landscape, portrait],
  );
});

test('I420 are the pictures themselves, and need no engine', () => {
  const picture = testFilm().pictureAt(0, portrait);
  const coder = openFrameCoder(null, 'i420', 15);
  assert.deepEqual(coder.code(picture, portrait, false), { isKeyFrame: true, payload: picture });
});

test('a coder that is closed leaves nothing native behind', { skip }, () => {
  const before = liveNatives();
  coded('h264', [
    [landscape, true],
    [portrait, false],
  ]);
  coded('mjpeg', [[landscape, true]]);
  assert.deepEqual(liveNatives(), before);
});
