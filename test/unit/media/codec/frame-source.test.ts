import assert from 'node:assert/strict';
import sharp from 'sharp';
import type { Engine } from '../../../../src/media/codec/engine.ts';
import { jpegSize } from '../../../../src/media/geometry/jpeg.ts';
import { jpegStructure } from '../../../support/jpeg-structure.ts';
import {
  fitScreen,
  jpegFilm,
  onlyPicture,
  ownSize,
  sourceFrame,
  transcodeFrame,
} from '../../../support/coded-frames.ts';
import { transcoderTest } from '../../../support/engine-test.ts';

const size = { width: 90, height: 70 };

type JpegOptions = NonNullable<Parameters<sharp.Sharp['jpeg']>[0]>;

/** The moving picture as another encoder writes it. */
async function foreignJpeg(
  engine: Engine,
  options: JpegOptions,
  change = (image: sharp.Sharp) => image,
  sides = size,
) {
  const [frame] = jpegFilm(engine, sides, 1);
  assert(frame !== undefined);
  return new Uint8Array(await change(sharp(frame.payload)).jpeg(options).toBuffer());
}

const kinds: readonly (readonly [string, JpegOptions, ((image: sharp.Sharp) => sharp.Sharp)?])[] = [
  ['baseline 4:2:0', { chromaSubsampling: '4:2:0' }],
  ['4:4:4', { chromaSubsampling: '4:4:4' }],
  ['progressive', { progressive: true }],
  ['progressive 4:4:4', { progressive: true, chromaSubsampling: '4:4:4' }],
  ['grey', {}, (image) => image.grayscale()],
  ['CMYK', {}, (image) => image.toColourspace('cmyk')],
];

for (const [name, options, change] of kinds)
  transcoderTest(`a ${name} JPEG becomes a baseline one of 4:2:0`, async (transcoder, engine) => {
    const frame = sourceFrame('mjpeg', await foreignJpeg(engine, options, change));
    const { bytes: jpeg } = onlyPicture(transcoder, frame, fitScreen);
    const { width, height, frameMarker, sampling } = jpegStructure(jpeg);
    assert.deepEqual(
      { width, height, frameMarker, sampling },
      {
        ...size,
        frameMarker: 0xc0,
        sampling: ['2x2', '1x1', '1x1'],
      },
    );
  });

transcoderTest(
  'side data of a camera is not forwarded, and nothing is rotated',
  async (transcoder, engine) => {
    const withMetadata = await foreignJpeg(engine, {}, (image) =>
      image.withMetadata({
        orientation: 6,
        icc: 'p3',
        exif: { IFD0: { Copyright: 'a name' }, IFD3: { GPSLatitude: '51/1 30/1 0/1' } },
      }),
    );
    assert(Buffer.from(withMetadata).includes('Exif'));
    const { bytes: jpeg } = onlyPicture(transcoder, sourceFrame('mjpeg', withMetadata), ownSize);
    assert.deepEqual(jpegSize(jpeg), size);
    for (const mark of ['Exif', 'a name', 'ICC_PROFILE']) assert(!Buffer.from(jpeg).includes(mark), mark);
  },
);

for (const [name, options] of kinds.slice(0, 4))
  transcoderTest(
    `a ${name} JPEG cut anywhere is undecodable, or the whole picture`,
    async (transcoder, engine) => {
      const payload = await foreignJpeg(engine, options);
      const whole = onlyPicture(transcoder, sourceFrame('mjpeg', payload), ownSize);
      let undecodable = 0;
      for (let length = 0; length < payload.length; length += 1) {
        const { drop, pictures, keyFrameWanted } = transcodeFrame(
          transcoder,
          sourceFrame('mjpeg', payload.subarray(0, length)),
          [ownSize],
        );
        assert.equal(keyFrameWanted, false);
        if (drop === null) assert.deepEqual(pictures, [whole]);
        else undecodable += Number(drop === 'undecodable');
      }
      assert(undecodable > payload.length / 2);
    },
  );
