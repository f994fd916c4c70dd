/** Streams of H.264 and H.265 that break, through the whole transcoder. */
import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import type { Engine } from '../../../../src/media/codec/engine.ts';
import type { FrameTranscoder } from '../../../../src/media/codec/frame-transcoder.ts';
import { liveNatives } from '../../../../src/media/codec/native-census.ts';
import type { SourceFrame } from '../../../../src/model/media/picture.ts';
import { nextNalUnit } from '../../../../src/media/geometry/nal-units.ts';
import {
  fitScreen,
  h264Film,
  h265Film,
  makeTranscoder,
  ownSize,
  sourceFrame,
  takeFrame,
} from '../../../support/coded-frames.ts';
import { engineTest, transcoderTest } from '../../../support/engine-test.ts';
import { chanceFrom, type Chance } from '../../../support/seeded-random.ts';

const size = { width: 160, height: 120 };

/** A word a frame: what became of it, and `!` where a key frame is wanted. */
function fates(transcoder: FrameTranscoder, frames: readonly (SourceFrame | undefined)[]): string[] {
  return frames.map((frame) => {
    assert(frame !== undefined);
    const { drop, pictures, keyFrameWanted } = takeFrame(transcoder, frame, [fitScreen]);
    const fate = drop ?? (pictures.length === 0 ? 'nothing' : typeof pictures[0]);
    return keyFrameWanted ? `${fate}!` : fate;
  });
}

function cutBy(frame: SourceFrame, bytes: number): SourceFrame {
  return { ...frame, payload: frame.payload.slice(0, -bytes) };
}

/** A key frame comes apart into its parameter sets and the rest. */
function splitParameters({ payload }: SourceFrame): { parameters: SourceFrame; rest: SourceFrame } {
  let at = nextNalUnit(payload, 0);
  while (at !== -1 && [7, 8].includes((payload[at] ?? 0) & 0x1f)) at = nextNalUnit(payload, at);
  assert(at > 3);
  return {
    parameters: sourceFrame('h264', payload.subarray(0, at - 3)),
    rest: sourceFrame('h264', payload.subarray(at - 3)),
  };
}

transcoderTest(
  'a film that begins in its middle is dropped up to its first key frame, which is asked for',
  (transcoder, engine) => {
    const film = h264Film(engine, size, 7, [0, 5]);
    assert.deepEqual(fates(transcoder, film.slice(3)), [
      'no_key_frame!',
      'no_key_frame!',
      'object',
      'object',
    ]);
  },
);

transcoderTest('after a cut frame all are dropped up to the next key frame', (transcoder, engine) => {
  const [key, cut, ...rest] = h264Film(engine, size, 6, [0, 4]);
  assert(key !== undefined && cut !== undefined);
  for (const bytes of [1, 20, cut.payload.length - 6])
    assert.deepEqual(fates(transcoder, [key, cutBy(cut, bytes), ...rest]), [
      'object',
      'undecodable!',
      'no_key_frame!',
      'no_key_frame!',
      'object',
      'object',
    ]);
});

transcoderTest(
  'a frame that goes on behind its picture is broken, though every block of it was there',
  (transcoder, engine) => {
    const [key, next, ...rest] = h264Film(engine, { width: 240, height: 320 }, 4, [0, 3]);
    assert(key !== undefined && next !== undefined);
    for (const fill of [0x55, 0xff]) {
      const broken: SourceFrame = { ...next, payload: next.payload.slice().fill(fill, 18) };
      assert.deepEqual(fates(transcoder, [key, broken, ...rest]), [
        'object',
        'undecodable!',
        'no_key_frame!',
        'object',
      ]);
    }
  },
);

transcoderTest(
  'a key frame that is lost in its own parameter sets is missed by the frame behind it',
  (transcoder, engine) => {
    const [first, second, key, next, last] = h264Film(engine, size, 5, [0, 2, 4]);
    assert(key !== undefined);
    const broken: SourceFrame = { ...key, payload: key.payload.slice().fill(0x55, 30) };
    assert.deepEqual(fates(transcoder, [first, second, broken, next, last]), [
      'object',
      'object',
      'nothing',
      'undecodable!',
      'object',
    ]);
  },
);

engineTest('a frame in which nothing is known is broken, also between good ones', (engine) => {
  const film = h264Film(engine, size, 3, [0, 2]);
  const hevc = h265Film(engine, size, 3, 2);
  for (const [format, [key, , last]] of [
    ['h264', film],
    ['h265', hevc],
  ] as const)
    for (const text of ['no start code', '\0\0\x01\x7f', '\0'.repeat(8)]) {
      const transcoder = makeTranscoder(engine);
      const garbage = sourceFrame(format, Buffer.from(text, 'latin1'));
      assert.deepEqual(
        fates(transcoder, [garbage, key, garbage, last]),
        ['no_key_frame!', 'object', 'undecodable!', 'object'],
        `${format} ${JSON.stringify(text)}`,
      );
      transcoder.close();
    }
});

transcoderTest('a frame that never came is noticed by the next one', (transcoder, engine) => {
  const film = h264Film(engine, size, 40, [0, 30]);
  const [first, second, , fourth, fifth] = film;
  assert.deepEqual(fates(transcoder, [first, second, fourth, fifth, film[30], film[31]]), [
    'object',
    'object',
    'undecodable!',
    'no_key_frame!',
    'object',
    'object',
  ]);
});

transcoderTest('a long film without a gap has a picture for every frame', (transcoder, engine) => {
  const film = h264Film(engine, { width: 32, height: 32 }, 100);
  assert.deepEqual(new Set(fates(transcoder, film)), new Set(['object']));
});

transcoderTest(
  'parameter sets may come in a frame of their own, at the beginning and later',
  (transcoder, engine) => {
    const film = h264Film(engine, size, 4, [0, 2]);
    const [key, next, laterKey, last] = film;
    assert(key !== undefined && laterKey !== undefined);
    const first = splitParameters(key);
    const later = splitParameters(laterKey);
    const frames = [first.parameters, first.rest, next, later.parameters, later.rest, last];
    assert.deepEqual(fates(transcoder, frames), [
      'nothing!',
      'object',
      'object',
      'nothing',
      'object',
      'object',
    ]);
  },
);

engineTest('300 corrupt frames cost themselves, and the film goes on at each key frame', (engine) => {
  const before = liveNatives();
  const transcoder = makeTranscoder(engine);
  const chance = chanceFrom(5);
  const film = h264Film(engine, size, 3);
  const [key, next] = film;
  assert(key !== undefined && next !== undefined);
  const whole = takeFrame(transcoder, key, [fitScreen]).pictures;
  for (let i = 0; i < 300; i += 1) {
    const payload = next.payload.slice();
    for (let hit = 0; hit < 5; hit += 1) payload[5 + chance.below(payload.length - 5)] = chance.below(256);
    takeFrame(transcoder, { ...next, payload }, [fitScreen]);
    assert.deepEqual(takeFrame(transcoder, key, [fitScreen]).pictures, whole);
  }
  transcoder.close();
  assert.deepEqual(liveNatives(), before);
});

transcoderTest(
  'nothing, zeroes and noise are undecodable, and no stream ends by them',
  (transcoder, engine) => {
    const [key, next] = h264Film(engine, size, 2);
    const hostile = [[], [0], [0, 0, 1], [0, 0, 0, 1, 0x65], Array.from({ length: 999 }, (_, i) => i)].map(
      (bytes) => sourceFrame('h264', Uint8Array.from(bytes)),
    );
    for (const frame of hostile) {
      const [, fate] = fates(transcoder, [key, frame]);
      assert.match(fate ?? '', /undecodable!|nothing/);
    }
    assert.deepEqual(fates(transcoder, [key, next]), ['object', 'object']);
  },
);

transcoderTest('the frames behind one that is too large are too large as well', (transcoder, engine) => {
  const large = h264Film(engine, { width: 1936, height: 64 }, 2);
  const small = h264Film(engine, size, 2);
  assert.deepEqual(fates(transcoder, [...small, ...large, ...small.toReversed(), small[1]]), [
    'object',
    'object',
    'too_large',
    'too_large',
    'too_large',
    'object',
    'object',
  ]);
});

engineTest('H.265 begins at a key frame, and goes on at one when a frame never came', (engine) => {
  const before = liveNatives();
  const transcoder = makeTranscoder(engine);
  const film = h265Film(engine, size, 10, 5);
  assert.deepEqual(fates(transcoder, film.slice(3, 7)), [
    'no_key_frame!',
    'no_key_frame!',
    'object',
    'object',
  ]);
  const [key, , third, fourth] = film;
  assert.deepEqual(fates(transcoder, [key, third, fourth, ...film.slice(5)]), [
    'object',
    'undecodable!',
    'no_key_frame!',
    ...Array.from({ length: 5 }, () => 'object'),
  ]);
  transcoder.close();
  assert.deepEqual(liveNatives(), before);
});

transcoderTest(
  'a key frame with other parameter sets shows itself, and not a picture that was kept back',
  (transcoder, engine) => {
    const film = h264Film(engine, size, 2);
    const [key, next] = film;
    assert(key !== undefined && next !== undefined);
    const good = [key, next].map((frame) => takeFrame(transcoder, frame, [fitScreen]).pictures);
    const payload = key.payload.slice();
    // Any bit of them: some make a decoder wait for pictures that never come.
    for (let bit = 8 * 5; bit < 8 * 28; bit += 1) {
      const at = bit >> 3;
      payload[at] = (key.payload[at] ?? 0) ^ (1 << (bit & 7));
      takeFrame(transcoder, { ...key, payload: payload.slice() }, [fitScreen]);
      payload[at] = key.payload[at] ?? 0;
      assert.deepEqual(
        [key, next].map((frame) => takeFrame(transcoder, frame, [fitScreen]).pictures),
        good,
      );
    }
  },
);

/** Of how many of `runs` films, in each of which one frame is damaged, a picture that is not the camera's was shown. */
function shownDamaged(
  engine: Engine,
  film: readonly SourceFrame[],
  damage: (frame: SourceFrame, chance: Chance) => SourceFrame,
): number {
  const good = makeTranscoder(engine);
  const pictures = film.map((frame) => takeFrame(good, frame, [ownSize]).pictures);
  good.close();
  const chance = chanceFrom(7);
  let shown = 0;
  for (let run = 0; run < 20; run += 1) {
    const transcoder = makeTranscoder(engine);
    const damaged = 10 + chance.below(film.length - 12);
    const seen = film.map((frame, index) =>
      takeFrame(transcoder, index === damaged ? damage(frame, chance) : frame, [ownSize]),
    );
    transcoder.close();
    shown += Number(
      seen.some(
        ({ drop, pictures: made }, index) => drop === null && !isDeepStrictEqual(made, pictures[index]),
      ),
    );
  }
  return shown;
}

function flipBit(frame: SourceFrame, chance: Chance): SourceFrame {
  const payload = frame.payload.slice();
  const at = 20 + chance.below(payload.length - 60);
  payload[at] = (payload[at] ?? 0) ^ (1 << chance.below(8));
  return { ...frame, payload };
}

engineTest('no damaged H.265 is shown of a sender that adds hashes; of another it is not seen', (engine) => {
  const hashed = h265Film(engine, size, 20, 20, ':hash=1');
  assert.equal(shownDamaged(engine, hashed, flipBit), 0);
  assert.equal(
    shownDamaged(engine, hashed, (frame, chance) => cutBy(frame, 24 + chance.below(100))),
    0,
  );
  assert.ok(shownDamaged(engine, h265Film(engine, size, 20, 20), flipBit) > 15);
});
