import assert from 'node:assert/strict';
import { liveNatives } from '../../../../src/media/codec/native-census.ts';
import { H264Encoder } from '../../../../src/media/codec/video-encoder.ts';
import { describeCodedFrame } from '../../../../src/media/geometry/nal-units.ts';
import { h264 } from '../../../../src/media/geometry/h264-stream.ts';
import { engineTest } from '../../../support/engine-test.ts';
import { movingPicture } from '../../../support/moving-picture.ts';

const size = { width: 240, height: 320 };

engineTest(
  'every picture is a frame at once; key frames come when asked, with their parameter sets',
  (engine) => {
    const before = liveNatives();
    const encoder = new H264Encoder(engine, { size, framesPerSecond: 15, bitsPerSecond: 300_000 });
    for (let index = 0; index < 30; index += 1) {
      const coded = encoder.encode(movingPicture(size, index), index % 10 === 0);
      assert(coded !== null);
      assert.equal(coded.isKey, index % 10 === 0);
      const { hasKey, size: told } = describeCodedFrame(coded.bytes, h264);
      assert.deepEqual([hasKey, told], [coded.isKey, coded.isKey ? size : null]);
    }
    encoder.close();
    assert.deepEqual(liveNatives(), before);
  },
);

engineTest('the rate is kept roughly', (engine) => {
  const encoder = new H264Encoder(engine, { size, framesPerSecond: 15, bitsPerSecond: 200_000 });
  let bytes = 0;
  for (let index = 0; index < 45; index += 1)
    bytes += encoder.encode(movingPicture(size, index), index === 0)?.bytes.length ?? 0;
  encoder.close();
  assert(bytes > 20_000 && bytes < 150_000, `${bytes} bytes in 3 s`);
});

engineTest('a size that H.264 cannot have is said at once, and nothing is left', (engine) => {
  const before = liveNatives();
  const odd = { size: { width: 3, height: 3 }, framesPerSecond: 15, bitsPerSecond: 1000 };
  assert.throws(() => new H264Encoder(engine, odd), /does not open its encoder/);
  assert.deepEqual(liveNatives(), before);
});
