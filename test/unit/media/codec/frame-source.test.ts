import assert from 'node:assert/strict';
import sharp from 'sharp';
import type { PictureShape } from '../../../../src/model/media/picture.ts';
import type { Engine } from '../../../../src/media/codec/engine.ts';
import { jpegSize } from '../../../../src/media/geometry/jpeg.ts';
import { jpegStructure } from '../../../support/jpeg-structure.ts';
import {
  fitScreen,
  jpegFilm,
  onlyPicture,
  ownSize,
  sourceFrame,
  takeFrame,
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

const large = { width: 160, height: 128 };
const quarter: PictureShape = { mode: 'fit_screen', screen: { width: 40, height: 32 } };

for (const [name, options, change] of kinds)
  transcoderTest(
    `a ${name} JPEG is seen as well where only a quarter of its sides is wanted`,
    async (transcoder, engine) => {
      const payload = await foreignJpeg(engine, options, change, large);
      const { source, pictures } = takeFrame(transcoder, sourceFrame('mjpeg', payload), [quarter]);
      const [picture] = pictures;
      assert(typeof picture === 'object');
      assert.deepEqual([source, picture.size], [large, quarter.screen]);
      const seen = await sharp(picture.bytes).raw().toBuffer();
      const whole = onlyPicture(transcoder, sourceFrame('mjpeg', payload), ownSize);
      const wanted = await sharp(whole.bytes).resize(40, 32).removeAlpha().raw().toBuffer();
      const mean =
        seen.reduce((sum, value, i) => sum + Math.abs(value - (wanted[i] ?? NaN)), 0) / seen.length;
      assert.ok(mean < 5, `${mean} of 255 away`);
    },
  );

transcoderTest('a 4:2:2 JPEG of odd sides is decoded', (transcoder, engine) => {
  const frame = sourceFrame('mjpeg', jpegOf422(engine, { width: 91, height: 71 }));
  // Twice the columns of chroma, as many rows.
  assert.deepEqual(jpegStructure(frame.payload).sampling, ['2x2', '1x2', '1x2']);
  assert.deepEqual(onlyPicture(transcoder, frame, ownSize).size, { width: 91, height: 71 });
});

transcoderTest(
  'what a camera writes beside the pixels is not sent on, and nothing is turned',
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
        const { drop, pictures, keyFrameWanted } = takeFrame(
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

transcoderTest('a cut JPEG that is given an end is undecodable', async (transcoder, engine) => {
  const payload = await foreignJpeg(engine, {});
  const half = payload.slice(0, payload.length / 2);
  half.set([0xff, 0xd9], half.length - 2);
  assert.equal(takeFrame(transcoder, sourceFrame('mjpeg', half), [ownSize]).drop, 'undecodable');
});

const zeros = (count: number): Buffer => Buffer.alloc(count);
const half = (jpeg: Buffer): Buffer => jpeg.subarray(0, jpeg.length / 2);
/** Changes that a sender may make to a whole JPEG. */
const wholes: readonly (readonly [string, (jpeg: Buffer) => Buffer])[] = [
  ['without its end', (jpeg) => jpeg.subarray(0, -2)],
  ['without its last byte', (jpeg) => jpeg.subarray(0, -1)],
  ['without its end, zeros behind it', (jpeg) => Buffer.concat([jpeg.subarray(0, -2), zeros(900)])],
  ['half of another behind it', (jpeg) => Buffer.concat([jpeg, half(jpeg)])],
  ['half of another behind it, without its end', (jpeg) => Buffer.concat([jpeg.subarray(0, -2), half(jpeg)])],
  ['half of another before it', (jpeg) => Buffer.concat([half(jpeg), jpeg])],
  ['zeros before and behind it', (jpeg) => Buffer.concat([zeros(9), jpeg, zeros(9)])],
  ['its start three times', (jpeg) => Buffer.concat([jpeg.subarray(0, 2), jpeg.subarray(0, 2), jpeg])],
];
const cuts: readonly (readonly [string, (jpeg: Buffer) => Buffer])[] = [
  ['cut', half],
  ['cut, zeros behind it', (jpeg) => Buffer.concat([half(jpeg), zeros(900)])],
  ['twice, both cut', (jpeg) => Buffer.concat([half(jpeg), half(jpeg)])],
  ['cut before its last bytes', (jpeg) => jpeg.subarray(0, -9)],
];

for (const [kind, options] of kinds.slice(0, 4)) {
  for (const [name, change] of wholes)
    transcoderTest(`a ${kind} JPEG is shown whole: ${name}`, async (transcoder, engine) => {
      const jpeg = Buffer.from(await foreignJpeg(engine, options));
      for (const shape of [ownSize, fitScreen])
        assert.deepEqual(
          onlyPicture(transcoder, sourceFrame('mjpeg', change(jpeg)), shape),
          onlyPicture(transcoder, sourceFrame('mjpeg', jpeg), shape),
        );
    });

  for (const [name, cut] of cuts)
    transcoderTest(`a ${kind} JPEG is dropped: ${name}`, async (transcoder, engine) => {
      const jpeg = Buffer.from(await foreignJpeg(engine, options));
      const { drop, cause } = takeFrame(transcoder, sourceFrame('mjpeg', cut(jpeg)), [fitScreen]);
      assert.deepEqual({ drop, cause }, { drop: 'undecodable', cause: 'cut' });
    });
}

transcoderTest('a JPEG without Huffman tables has those of AVI', async (transcoder, engine) => {
  const jpeg = Buffer.from(await foreignJpeg(engine, { optimiseCoding: false }));
  const at = jpeg.indexOf(Buffer.of(0xff, 0xc4));
  let end = at;
  while (jpeg[end + 1] === 0xc4) end += 2 + jpeg.readUInt16BE(end + 2);
  assert(at > 0 && end > at);
  const bare = Buffer.concat([jpeg.subarray(0, at), jpeg.subarray(end)]);
  assert.deepEqual(
    onlyPicture(transcoder, sourceFrame('mjpeg', bare), ownSize),
    onlyPicture(transcoder, sourceFrame('mjpeg', jpeg), ownSize),
  );
});

transcoderTest('bytes behind the end of a JPEG do not matter', (transcoder, engine) => {
  const [frame] = jpegFilm(engine, size, 1);
  assert(frame !== undefined);
  const padded = new Uint8Array(frame.payload.length + 100);
  padded.set(frame.payload);
  assert.deepEqual(
    onlyPicture(transcoder, sourceFrame('mjpeg', padded), ownSize),
    onlyPicture(transcoder, frame, ownSize),
  );
});

/** By FFmpeg's encoder, since the other one makes none. */
function jpegOf422(
  { av, constants }: Engine,
  { width, height }: { width: number; height: number },
): Uint8Array {
  const codec = av.Codec.findEncoder(constants.AV_CODEC_ID_MJPEG);
  assert(codec !== null);
  const context = new av.CodecContext();
  const frame = new av.Frame();
  const packet = new av.Packet();
  context.allocContext3(codec);
  frame.alloc();
  packet.alloc();
  try {
    for (const target of [context, frame]) Object.assign(target, { width, height });
    context.pixelFormat = constants.AV_PIX_FMT_YUVJ422P;
    context.timeBase = new av.Rational(1, 15);
    frame.format = constants.AV_PIX_FMT_YUVJ422P;
    assert.equal(context.open2Sync(codec, null), 0);
    assert.equal(frame.getBuffer(0), 0);
    for (const plane of frame.data ?? []) plane.fill(128);
    assert.equal(context.sendFrameSync(frame), 0);
    assert.equal(context.receivePacketSync(packet), 0);
    assert(packet.data !== null);
    return new Uint8Array(packet.data);
  } finally {
    context.freeContext();
    frame.free();
    packet.free();
  }
}
