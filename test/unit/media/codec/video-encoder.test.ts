import assert from 'node:assert/strict';
import { PlanarSource } from '../../../../src/media/codec/frame-source.ts';
import type { Engine } from '../../../../src/media/codec/engine.ts';
import { liveNatives } from '../../../../src/media/codec/native-census.ts';
import { type CodedPicture, openH264Encoder } from '../../../../src/media/codec/video-encoder.ts';
import { describeCodedFrame } from '../../../../src/media/geometry/nal-units.ts';
import { h264 } from '../../../../src/media/geometry/h264-stream.ts';
import type { Size } from '../../../../src/model/call.ts';
import { sourceFrame } from '../../../support/coded-frames.ts';
import { engineTest } from '../../../support/engine-test.ts';
import { movingPicture } from '../../../support/moving-picture.ts';
import { chanceFrom } from '../../../support/seeded-random.ts';

const size = { width: 240, height: 320 };

/** Encodes every picture; `isKeyWanted` selects the key frames. */
function encoded(
  engine: Engine,
  pictures: readonly Uint8Array[],
  isKeyWanted: (index: number) => boolean,
): CodedPicture[] {
  const encoder = openH264Encoder(engine, size, 15);
  const planes = new PlanarSource(engine);
  const coded = pictures.map((picture, index) => {
    assert.equal(planes.decode(sourceFrame('i420', picture, size)), 'decoded');
    const made = encoder.encode(planes.frame, isKeyWanted(index));
    assert(made !== null);
    return made;
  });
  planes.close();
  encoder.close();
  return coded;
}

function film(count: number): Uint8Array[] {
  return Array.from({ length: count }, (_, index) => movingPicture(size, index));
}

engineTest(
  'every picture becomes a frame at once; key frames come on request, with their parameter sets',
  (engine) => {
    const before = liveNatives();
    const isKeyWanted = (index: number): boolean => index % 10 === 0;
    for (const [index, { bytes, isKey }] of encoded(engine, film(30), isKeyWanted).entries()) {
      assert.equal(isKey, isKeyWanted(index));
      const { hasKey, size: told } = describeCodedFrame(bytes, h264);
      assert.deepEqual([hasKey, told], [isKey, isKey ? size : null]);
    }
    assert.deepEqual(liveNatives(), before);
  },
);

engineTest('frames are constrained baseline, and none waits for a later one', (engine) => {
  const [first] = encoded(engine, film(1), () => true);
  const bytes = Buffer.from(first?.bytes ?? []);
  const at = bytes.indexOf(Buffer.of(0, 0, 1, 0x67)) + 4;
  // profile_idc, and constraint_set0_flag and constraint_set1_flag.
  assert.deepEqual([bytes[at], (bytes[at + 1] ?? 0) & 0xc0], [66, 0xc0]);
});

engineTest('incompressible video keeps to the rate, and a still picture is far below it', (engine) => {
  const bytesPerSecond = (size.width * size.height * 15 * 0.2) / 8;
  const bytesOf = (pictures: readonly Uint8Array[]): number =>
    encoded(engine, pictures, () => false).reduce((sum, { bytes }) => sum + bytes.length, 0);
  const seconds = 4;
  const chance = chanceFrom(1);
  const noise = film(seconds * 15).map((picture) => picture.map(() => 16 + chance.below(220)));
  const noisy = bytesOf(noise);
  assert(noisy < 1.6 * seconds * bytesPerSecond, `${noisy} bytes, ${seconds * bytesPerSecond} meant`);
  const still = bytesOf(
    film(1).concat(Array.from({ length: seconds * 15 - 1 }, () => movingPicture(size, 0))),
  );
  assert(still < (seconds * bytesPerSecond) / 4, `${still} bytes`);
});

engineTest('a size that H.264 does not support is rejected at once, and nothing is left', (engine) => {
  const before = liveNatives();
  const odd: Size = { width: 3, height: 3 };
  assert.throws(() => openH264Encoder(engine, odd, 15), /does not open its encoder/);
  assert.deepEqual(liveNatives(), before);
});
