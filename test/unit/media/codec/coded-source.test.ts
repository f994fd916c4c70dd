/** Damaged H.264 and H.265 streams, through the whole transcoder. */
import assert from 'node:assert/strict';
import type { FrameTranscoder } from '../../../../src/media/codec/frame-transcoder.ts';
import { liveNatives } from '../../../../src/media/codec/native-census.ts';
import type { SourceFrame } from '../../../../src/model/media/picture.ts';
import { nextNalUnit, splitNalUnits } from '../../../../src/media/geometry/nal-units.ts';
import { describeFrame } from '../../../../src/media/geometry/source-frame.ts';
import {
  fitScreen,
  h264Film,
  h265Film,
  makeTranscoder,
  sourceFrame,
  transcodeFrame,
} from '../../../support/coded-frames.ts';
import { engineTest, transcoderTest } from '../../../support/engine-test.ts';
import { BitWriter } from '../../../support/bit-writer.ts';
import { h264Key } from '../../../support/hostile-pictures.ts';
import { h264ParameterSet } from '../../../support/parameter-sets.ts';

const size = { width: 160, height: 120 };

/** One word per frame: its result, with `!` if a key frame is wanted. */
function fates(transcoder: FrameTranscoder, frames: readonly (SourceFrame | undefined)[]): string[] {
  return frames.map((frame) => {
    assert(frame !== undefined);
    const { drop, pictures, keyFrameWanted } = transcodeFrame(transcoder, frame, [fitScreen]);
    const fate = drop ?? (pictures.length === 0 ? 'nothing' : typeof pictures[0]);
    return keyFrameWanted ? `${fate}!` : fate;
  });
}

function cutBy(frame: SourceFrame, bytes: number): SourceFrame {
  return { ...frame, payload: frame.payload.slice(0, -bytes) };
}

/** Splits a key frame into its parameter sets and the rest. */
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
  'a film that begins in its middle is dropped up to its first key frame, which is requested',
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

transcoderTest(
  'a cut frame and later ones are shown as FFmpeg decodes them, and a key frame is requested',
  (transcoder, engine) => {
    const [key, cut, ...rest] = h264Film(engine, size, 6, [0, 4]);
    assert(key !== undefined && cut !== undefined);
    for (const bytes of [1, 20])
      assert.deepEqual(fates(transcoder, [key, cutBy(cut, bytes), ...rest]), [
        'object',
        'object!',
        'object!',
        'object!',
        'object',
        'object',
      ]);
  },
);

transcoderTest('the key frame after damage is decoded as by a new decoder', (transcoder, engine) => {
  const [key, cut] = h264Film(engine, size, 2);
  assert(key !== undefined && cut !== undefined);
  const whole = transcodeFrame(transcoder, key, [fitScreen]).pictures;
  transcodeFrame(transcoder, cutBy(cut, 20), [fitScreen]);
  assert.deepEqual(transcodeFrame(transcoder, key, [fitScreen]).pictures, whole);
});

transcoderTest(
  'the frame after a key frame with damaged parameter sets detects its loss',
  (transcoder, engine) => {
    const [first, second, key, next, last] = h264Film(engine, size, 5, [0, 2, 4]);
    assert(key !== undefined);
    const broken: SourceFrame = { ...key, payload: key.payload.slice().fill(0x55, 30) };
    const shown = fates(transcoder, [first, second, broken, next, last]);
    assert.deepEqual([...shown.slice(0, 3), shown[4]], ['object', 'object', 'nothing', 'object']);
    assert.match(shown[3] ?? '', /!$/);
  },
);

engineTest('a frame without any known NAL unit is broken, also between good ones', (engine) => {
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

transcoderTest('the next frame detects a frame that never arrived', (transcoder, engine) => {
  const film = h264Film(engine, size, 40, [0, 30]);
  const [first, second, , fourth, fifth] = film;
  assert.deepEqual(fates(transcoder, [first, second, fourth, fifth, film[30], film[31]]), [
    'object',
    'object',
    'object!',
    'object!',
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

transcoderTest('the frames after one that is too large are too large as well', (transcoder, engine) => {
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

engineTest('H.265 begins at a key frame, and continues at one after a missing frame', (engine) => {
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
    'object!',
    'object!',
    ...Array.from({ length: 5 }, () => 'object'),
  ]);
  transcoder.close();
  assert.deepEqual(liveNatives(), before);
});

transcoderTest(
  'a key frame with other parameter sets shows itself, and no delayed picture',
  (transcoder, engine) => {
    const film = h264Film(engine, size, 2);
    const [key, next] = film;
    assert(key !== undefined && next !== undefined);
    const good = [key, next].map((frame) => transcodeFrame(transcoder, frame, [fitScreen]).pictures);
    const payload = key.payload.slice();
    // Any of their bits: some make a decoder wait for pictures that never come.
    for (let bit = 8 * 5; bit < 8 * 28; bit += 1) {
      const at = bit >> 3;
      payload[at] = (key.payload[at] ?? 0) ^ (1 << (bit & 7));
      transcodeFrame(transcoder, { ...key, payload: payload.slice() }, [fitScreen]);
      payload[at] = key.payload[at] ?? 0;
      assert.deepEqual(
        [key, next].map((frame) => transcodeFrame(transcoder, frame, [fitScreen]).pictures),
        good,
      );
    }
  },
);

type Rearrange = (units: readonly Buffer[], key: number) => readonly (readonly Buffer[])[];

/** Messages of a film whose key frames are split into their sets and their slices. */
function rearranged(film: readonly SourceFrame[], keyEvery: number, rearrange: Rearrange): SourceFrame[] {
  return film.flatMap((frame, index) => {
    if (index % keyEvery !== 0) return [frame];
    const units = splitNalUnits(frame.payload).map((unit) => Buffer.concat([Buffer.of(0, 0, 1), unit]));
    return rearrange(units, index / keyEvery).map((message) =>
      sourceFrame(frame.format, Buffer.concat(message)),
    );
  });
}

function isSet(unit: Buffer, format: string): boolean {
  const first = unit[3] ?? 0;
  return format === 'h264' ? [7, 8].includes(first & 0x1f) : [32, 33, 34].includes(first >> 1);
}

transcoderTest(
  'the decoder that replaces a damaged one knows sets that only one key frame had',
  (transcoder, engine) => {
    const messages = rearranged(h264Film(engine, size, 6, [0, 3]), 3, (units, key) => [
      key === 0 ? units : units.filter((unit) => !isSet(unit, 'h264')),
    ]);
    const [key, next, , later, last] = messages;
    assert(next !== undefined);
    assert.deepEqual(fates(transcoder, [key, cutBy(next, 9), later, last]), [
      'object',
      'object!',
      'object',
      'object',
    ]);
  },
);

transcoderTest('1088 rows without cropping are within a limit of 1080', (transcoder) => {
  const uncropped = h264ParameterSet({ macroblocks: [120, 68] });
  const { payload } = h264Key();
  const key = sourceFrame('h264', Buffer.concat([uncropped, payload.subarray(payload.indexOf(0x68) - 4)]));
  const { drop, source } = transcodeFrame(transcoder, key, [fitScreen]);
  assert.deepEqual({ drop, source }, { drop: null, source: { width: 1920, height: 1088 } });
});

transcoderTest('decoding begins at a recovery point as at a key frame', (transcoder, engine) => {
  const [key, ...rest] = h264Film(engine, size, 6);
  assert(key !== undefined);
  const recoveryPoint = new BitWriter().fixed(6, 8).fixed(1, 8).unsigned(0).fixed(0b1000, 4).nalUnit([6]);
  const units = rearranged([key], 1, (all) => [all])[0];
  assert(units !== undefined);
  const sets = splitNalUnits(units.payload).filter((unit) =>
    isSet(Buffer.concat([Buffer.alloc(3), unit]), 'h264'),
  );
  const begin = sourceFrame(
    'h264',
    Buffer.concat([
      ...sets.flatMap((set) => [Buffer.of(0, 0, 1), set]),
      recoveryPoint,
      rest[0]?.payload ?? key.payload,
    ]),
  );
  assert.equal(describeFrame(begin).isKey, true);
  assert.equal(fates(transcoder, [begin, ...rest.slice(1)]).includes('no_key_frame!'), false);
});
