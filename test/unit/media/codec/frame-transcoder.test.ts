import assert from 'node:assert/strict';
import { FrameTranscoder } from '../../../../src/media/codec/frame-transcoder.ts';
import { liveNatives } from '../../../../src/media/codec/native-census.ts';
import { pictureShapesKeptMax } from '../../../../src/model/limits.ts';
import type { FrameResult, PictureShape } from '../../../../src/model/media/picture.ts';
import { h264 } from '../../../../src/media/geometry/h264-stream.ts';
import { jpegSize } from '../../../../src/media/geometry/jpeg.ts';
import { describeCodedFrame } from '../../../../src/media/geometry/nal-units.ts';
import {
  fillScreen,
  fitScreen,
  h264Film,
  jpegFilm,
  makeTranscoder,
  onlyPicture,
  ownSize,
  ownSizeH264,
  planarFrame,
  sourceFrame,
  transcodeFrame,
} from '../../../support/coded-frames.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { engineTest, transcoderTest } from '../../../support/engine-test.ts';
import { jpegStructure } from '../../../support/jpeg-structure.ts';

const portrait = { width: 240, height: 320 };

function sizesOf({ pictures }: FrameResult): (string | null)[] {
  return pictures.map((picture) => {
    if (typeof picture === 'string') return picture;
    assert.deepEqual(jpegSize(picture.bytes), picture.size);
    return `${picture.size.width}x${picture.size.height}`;
  });
}

transcoderTest('240x320 for a screen of 160x100 is 74x100 fitted and 160x100 filled', (transcoder) => {
  const result = transcodeFrame(transcoder, planarFrame(portrait), [fitScreen, fillScreen, ownSize]);
  assert.deepEqual(sizesOf(result), ['74x100', '160x100', '240x320']);
  assert.deepEqual(result.source, portrait);
  assert.equal(result.drop, null);
});

transcoderTest('the format may change at any key frame', (transcoder, engine) => {
  const [planar, jpeg] = [planarFrame(portrait), ...jpegFilm(engine, portrait, 1)];
  const film = h264Film(engine, portrait, 2);
  assert(planar !== undefined && jpeg !== undefined);
  for (const frame of [planar, jpeg, ...film, jpeg, planar, ...film, planar])
    assert.deepEqual(sizesOf(transcodeFrame(transcoder, frame, [fitScreen])), ['74x100']);
});

transcoderTest('a JPEG has a buffer of its own, of its size, that can be transferred', (transcoder) => {
  const { bytes: jpeg } = onlyPicture(transcoder, planarFrame(portrait), fitScreen);
  assert.equal(jpeg.byteOffset, 0);
  assert.equal(jpeg.buffer.byteLength, jpeg.length);
  const moved = structuredClone(jpeg, { transfer: [jpeg.buffer] });
  assert.equal(jpeg.length, 0);
  assert.deepEqual(jpegSize(moved), { width: 74, height: 100 });
});

transcoderTest('a JPEG is baseline, 4:2:0 and JFIF, without other metadata', (transcoder) => {
  assert.deepEqual(jpegStructure(onlyPicture(transcoder, planarFrame(portrait), fitScreen).bytes), {
    width: 74,
    height: 100,
    frameMarker: 0xc0,
    bitsPerSample: 8,
    sampling: ['2x2', '1x1', '1x1'],
    isJfif: true,
    comments: [],
    isEnded: true,
  });
});

transcoderTest('a payload within a larger buffer is decoded correctly', (transcoder, engine) => {
  const [whole] = jpegFilm(engine, portrait, 1);
  assert(whole !== undefined);
  const padded = new Uint8Array(whole.payload.length + 24);
  padded.set(whole.payload, 12);
  const frame = { ...whole, payload: padded.subarray(12, -12) };
  assert.deepEqual(
    onlyPicture(transcoder, frame, fitScreen).bytes,
    onlyPicture(transcoder, whole, fitScreen).bytes,
  );
});

transcoderTest('a frame without shapes is decoded for the frames that depend on it', (transcoder, engine) => {
  const [key, next] = h264Film(engine, portrait, 2);
  assert(key !== undefined && next !== undefined);
  const { source, pictures, drop, rebuilds } = transcodeFrame(transcoder, key, []);
  assert.deepEqual(
    { source, pictures, drop, rebuilds },
    { source: portrait, pictures: [], drop: null, rebuilds: 0 },
  );
  assert.deepEqual(sizesOf(transcodeFrame(transcoder, next, [ownSize])), ['240x320']);
});

transcoderTest(
  'scaler and encoder are built once for a source, and rebuilt when its size changes',
  (transcoder) => {
    const rebuilds = [portrait, portrait, { width: 320, height: 240 }, { width: 320, height: 240 }].map(
      (size, index) => transcodeFrame(transcoder, planarFrame(size, index), [fitScreen]).rebuilds,
    );
    assert.deepEqual(rebuilds, [0, 0, 2, 0], 'the first ones are none');
  },
);

transcoderTest(
  'a picture whose side would be 0 is dropped as too small, the others are made',
  (transcoder) => {
    const result = transcodeFrame(transcoder, planarFrame({ width: 400, height: 2 }), [
      fitScreen,
      fillScreen,
    ]);
    assert.deepEqual(sizesOf(result), ['too_small', '160x100']);
    assert.equal(result.drop, null);
  },
);

transcoderTest(
  'a screen larger than the maximum picture is not filled, and the other shapes are made',
  (transcoder) => {
    const huge = { mode: 'fill_screen', screen: { width: 16_384, height: 1026 } } as const;
    const result = transcodeFrame(transcoder, planarFrame(portrait, 0), [huge, fillScreen]);
    assert.deepEqual(sizesOf(result), ['too_large', '160x100']);
  },
);

transcoderTest('odd and tiny sources have pictures', (transcoder) => {
  for (const width of [1, 2, 3, 5, 16, 17, 241])
    for (const height of [1, 2, 3, 7, 18, 321]) {
      const result = transcodeFrame(transcoder, planarFrame({ width, height }), [ownSize, fillScreen]);
      assert.deepEqual(sizesOf(result), [`${width}x${height}`, '160x100']);
    }
});

engineTest(
  'a source beyond the largest size is dropped before it is decoded, in either orientation',
  (engine) => {
    const transcoder = new FrameTranscoder(engine, {
      maxFps: 15,
      quality: 80,
      sourceMax: { width: 320, height: 240 },
    });
    const tooLarge = { width: 322, height: 240 };
    const frames = [
      planarFrame(tooLarge),
      ...jpegFilm(engine, { width: 240, height: 322 }, 1),
      ...h264Film(engine, tooLarge, 2),
    ];
    for (const frame of frames) {
      const { source, drop, pictures, keyFrameWanted } = transcodeFrame(transcoder, frame, [fitScreen]);
      assert.deepEqual(
        { source, drop, pictures, keyFrameWanted },
        {
          source: null,
          drop: 'too_large',
          pictures: [],
          keyFrameWanted: false,
        },
      );
    }
    assert.deepEqual(sizesOf(transcodeFrame(transcoder, planarFrame(portrait), [fitScreen])), ['74x100']);
    transcoder.close();
  },
);

transcoderTest('planes that do not fill their size are undecodable', (transcoder) => {
  const { payload } = planarFrame(portrait);
  for (const size of [
    { width: 0, height: 0 },
    { width: 240, height: 319 },
    { width: 242, height: 320 },
  ])
    assert.equal(
      transcodeFrame(transcoder, sourceFrame('i420', payload, size), [fitScreen]).drop,
      'undecodable',
    );
});

transcoderTest('more shapes than are kept are all made, and memory stays bounded', (transcoder) => {
  const shapes = Array.from({ length: pictureShapesKeptMax + 3 }, (_, index): PictureShape => {
    return { mode: 'fill_screen', screen: { width: 64 + 2 * index, height: 48 } };
  });
  const expected = shapes.map(({ screen }) => `${screen?.width}x48`);
  for (let i = 0; i < 3; i += 1)
    assert.deepEqual(sizesOf(transcodeFrame(transcoder, planarFrame(portrait, i), shapes)), expected);
  assert(liveNatives().graphs <= pictureShapesKeptMax);
});

engineTest(
  'the size changes at every frame for 1 000 frames: each picture is right, and the number of natives stays',
  (engine) => {
    const before = liveNatives();
    const transcoder = makeTranscoder(engine);
    const sizes = Array.from({ length: 40 }, (_, i) => ({
      width: 32 + 2 * ((i * 7) % 40),
      height: 96 - 2 * i,
    }));
    const frames = sizes.map((size) => planarFrame(size));
    let working = null;
    for (let i = 0; i < 1000; i += 1) {
      const frame = frames[i % frames.length];
      assert(frame !== undefined);
      const result = transcodeFrame(transcoder, frame, [fillScreen, ownSize]);
      assert.deepEqual(sizesOf(result), ['160x100', `${frame.width}x${frame.height}`]);
      assert.equal(result.rebuilds, i === 0 ? 0 : 4);
      working ??= liveNatives();
      assert.deepEqual(liveNatives(), working);
    }
    transcoder.close();
    assert.deepEqual(liveNatives(), before);
  },
);

engineTest('closing frees everything, in any state', (engine) => {
  const before = liveNatives();
  const film = h264Film(engine, portrait, 3);
  for (const frames of [[], film, film.slice(1), jpegFilm(engine, portrait, 1), [planarFrame(portrait)]]) {
    const transcoder = makeTranscoder(engine);
    for (const frame of frames) transcodeFrame(transcoder, frame, [fitScreen, ownSize]);
    transcoder.close();
    assert.deepEqual(liveNatives(), before);
  }
});

/** Advances by 3 ms whenever it is read. */
class TickingClock extends DrivenClock {
  override monotonicMs(): number {
    this.advance(3);
    return super.monotonicMs();
  }
}

engineTest('the result has the time that the frame took', (engine) => {
  const settings = { maxFps: 15, quality: 80, sourceMax: portrait };
  const transcoder = new FrameTranscoder(engine, settings, new TickingClock());
  assert.equal(transcodeFrame(transcoder, planarFrame(portrait), []).workMs, 3);
  transcoder.close();
});

engineTest(
  'H.264 of any source has even sides, begins with a key frame, and has one on request',
  (engine) => {
    const transcoder = makeTranscoder(engine);
    const odd = { width: 65, height: 47 };
    const told = [false, false, true, false].map((isKeyWanted, index) => {
      const { pictures, drop } = transcodeFrame(
        transcoder,
        planarFrame(odd, index),
        [ownSizeH264],
        isKeyWanted,
      );
      const [picture] = pictures;
      assert(typeof picture === 'object' && drop === null);
      const { hasKey } = describeCodedFrame(picture.bytes, h264);
      return [picture.format, picture.size, picture.isKey, hasKey];
    });
    const even = { width: 64, height: 46 };
    assert.deepEqual(
      told,
      [true, false, true, false].map((isKey) => ['h264', even, isKey, isKey]),
    );
    assert.deepEqual(
      transcodeFrame(transcoder, planarFrame({ width: 9, height: 1 }), [ownSizeH264]).pictures,
      ['too_small'],
    );
    transcoder.close();
  },
);

engineTest('H.264 and a JPEG are made from one source', (engine) => {
  const transcoder = makeTranscoder(engine);
  const [coded, jpeg] = transcodeFrame(transcoder, planarFrame(portrait), [ownSizeH264, ownSize]).pictures;
  assert(typeof coded === 'object' && typeof jpeg === 'object');
  assert.deepEqual([coded.format, jpeg.format, jpeg.isKey], ['h264', 'mjpeg', true]);
  assert.deepEqual(jpegSize(jpeg.bytes), portrait);
  transcoder.close();
});
