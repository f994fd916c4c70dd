/** Source frames for tests: the moving picture in every format that a bridge sends, encoded by the engine itself. */
import assert from 'node:assert/strict';
import type { Engine } from '../../src/media/codec/engine.ts';
import { FrameTranscoder } from '../../src/media/codec/frame-transcoder.ts';
import { freeNatives, makePacket, openCodec } from '../../src/media/codec/native-census.ts';
import { PlanarSource } from '../../src/media/codec/frame-source.ts';
import { describeFrame } from '../../src/media/geometry/source-frame.ts';
import type { Size } from '../../src/model/call.ts';
import type {
  FrameResult,
  Picture,
  PictureShape,
  SourceFrame,
  VideoFrameFormat,
} from '../../src/model/media/picture.ts';
import { movingPicture } from './moving-picture.ts';

export const ownSize: PictureShape = { mode: 'auto', screen: null };
export const ownSizeH264: PictureShape = { mode: 'auto', screen: null, format: 'h264' };
export const fitScreen: PictureShape = { mode: 'fit_screen', screen: { width: 160, height: 100 } };
export const fillScreen: PictureShape = { mode: 'fill_screen', screen: { width: 160, height: 100 } };

export function makeTranscoder(
  engine: Engine,
  sourceMax: Size = { width: 1920, height: 1080 },
): FrameTranscoder {
  return new FrameTranscoder(engine, { maxFps: 15, quality: 90, sourceMax });
}

/** A frame whose header has no size unless `size` is given. */
export function sourceFrame(
  format: VideoFrameFormat,
  payload: Uint8Array,
  { width, height }: Size = { width: 0, height: 0 },
): SourceFrame {
  return { format, isKeyFrame: false, width, height, payload: new Uint8Array(payload) };
}

export function planarFrame(size: Size, index = 0): SourceFrame {
  return sourceFrame('i420', movingPicture(size, index), size);
}

/** `count` frames of H.264; those of `keys` are key frames, the first among them. */
export function h264Film(
  engine: Engine,
  size: Size,
  count: number,
  keys: readonly number[] = [0],
): SourceFrame[] {
  return encodeFilm(
    engine,
    size,
    Array.from({ length: count }, (_, index) => movingPicture(size, index)),
    keys,
  );
}

export function encodeFilm(
  engine: Engine,
  size: Size,
  pictures: readonly Uint8Array<ArrayBuffer>[],
  keys: readonly number[] = [0],
): SourceFrame[] {
  const transcoder = makeTranscoder(engine, size);
  try {
    return pictures.map((picture, index) => {
      const frame = sourceFrame('i420', picture, size);
      const [coded] = transcodeFrame(transcoder, frame, [ownSizeH264], keys.includes(index)).pictures;
      assert(typeof coded === 'object', 'the encoder has no delay');
      assert.equal(coded.isKey, keys.includes(index));
      return sourceFrame('h264', coded.bytes);
    });
  } finally {
    transcoder.close();
  }
}

/** `count` frames of H.265; the first and every `keyEvery`th are key frames. `more`: options of x265, each behind a colon. */
export function h265Film(
  engine: Engine,
  size: Size,
  count: number,
  keyEvery: number,
  more = '',
): SourceFrame[] {
  const { av, constants } = engine;
  const codec = av.Codec.findEncoderByName(constants.FF_ENCODER_LIBX265);
  const context = openCodec(engine, codec, 'encoder of H.265', (opening) => {
    Object.assign(opening, { ...size, pixelFormat: constants.AV_PIX_FMT_YUV420P });
    opening.timeBase = new av.Rational(1, 15);
    opening.setOption('preset', 'ultrafast');
    opening.setOption('tune', 'zerolatency');
    const keys = `keyint=${keyEvery}:min-keyint=${keyEvery}:scenecut=0:repeat-headers=1`;
    opening.setOption('x265-params', `${keys}:bframes=0:pools=none:frame-threads=1:log-level=none${more}`);
  });
  const planes = new PlanarSource(engine);
  const packet = makePacket(engine);
  try {
    return Array.from({ length: count }, (_, index) => {
      const planar = planarFrame(size, index);
      assert.equal(planes.decode(planar), 'decoded');
      planes.frame.pts = BigInt(index);
      assert.equal(context.sendFrameSync(planes.frame), 0);
      assert.equal(context.receivePacketSync(packet), 0);
      assert(packet.data !== null);
      return sourceFrame('h265', packet.data);
    });
  } finally {
    freeNatives(context, packet);
    planes.close();
  }
}

export function jpegFilm(engine: Engine, size: Size, count: number): SourceFrame[] {
  const transcoder = makeTranscoder(engine);
  try {
    return Array.from({ length: count }, (_, index) =>
      sourceFrame('mjpeg', onlyPicture(transcoder, planarFrame(size, index), ownSize).bytes),
    );
  } finally {
    transcoder.close();
  }
}

export function transcodeFrame(
  transcoder: Pick<FrameTranscoder, 'transcode'>,
  frame: SourceFrame,
  shapes: readonly PictureShape[],
  isKeyWanted = false,
): FrameResult {
  return transcoder.transcode(frame, shapes, describeFrame(frame), isKeyWanted);
}

/** Transcodes a frame. Asserts that it was decoded into exactly one picture. */
export function onlyPicture(transcoder: FrameTranscoder, frame: SourceFrame, shape: PictureShape): Picture {
  const { drop, pictures } = transcodeFrame(transcoder, frame, [shape]);
  assert.equal(drop, null);
  const [picture] = pictures;
  assert(typeof picture === 'object', `a picture, not ${JSON.stringify(picture)}`);
  return picture;
}
