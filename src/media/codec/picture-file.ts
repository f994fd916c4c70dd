/** Pictures as files have them: a JPEG to pixels, pixels to a PNG. For people and tests; no call needs it. */
import type { Frame } from 'node-av/lib';
import { assert } from '../../lib/assert.ts';
import type { Size } from '../../model/call.ts';
import { sourceSideMax } from '../../model/limits.ts';
import { Decoder } from './decoder.ts';
import type { Engine } from './engine.ts';
import { FilterChain, traitsOf } from './filter-chain.ts';
import {
  freeCodecContext,
  freeFrame,
  freePacket,
  makeCodecContext,
  makeFrame,
  makePacket,
} from './native-census.ts';

export interface RgbPicture {
  readonly size: Size;
  /** Three bytes a pixel, row by row, without padding. */
  readonly rgb: Uint8Array<ArrayBuffer>;
}

/** Throws where it is no JPEG. */
export function decodeJpeg(engine: Engine, jpeg: Uint8Array<ArrayBuffer>): RgbPicture {
  const decoder = Decoder.open(engine, 'mjpeg', { width: sourceSideMax, height: sourceSideMax });
  try {
    if (decoder.decode(jpeg) !== 'decoded') throw new Error('this is no JPEG that can be decoded');
    return toRgb(engine, decoder.frame);
  } finally {
    decoder.close();
  }
}

function toRgb(engine: Engine, frame: Frame): RgbPicture {
  const chain = FilterChain.build(engine, traitsOf(frame), [
    ['scale', 'flags=bicubic+accurate_rnd+full_chroma_int'],
    ['format', 'pix_fmts=rgb24'],
  ]);
  try {
    const picture = chain.filter(frame);
    if (picture === null) throw new Error('FFmpeg does not make pixels of this');
    return { size: { width: picture.width, height: picture.height }, rgb: packedRows(picture) };
  } finally {
    chain.close();
  }
}

function packedRows({ width, height, linesize, data }: Frame): Uint8Array<ArrayBuffer> {
  const [stride = 0] = linesize;
  const [plane] = data ?? [];
  assert(plane !== undefined, 'a picture has a plane');
  const rowBytes = width * 3;
  const rgb = new Uint8Array(rowBytes * height);
  for (let row = 0; row < height; row += 1)
    rgb.set(plane.subarray(row * stride, row * stride + rowBytes), row * rowBytes);
  return rgb;
}

/** `rgb`: three bytes a pixel, row by row, without padding. */
export function encodePng(engine: Engine, size: Size, rgb: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  assert(rgb.length === size.width * size.height * 3, 'pixels fill their picture');
  const { av, constants } = engine;
  const codec = av.Codec.findEncoder(constants.AV_CODEC_ID_PNG);
  if (codec === null) throw new Error('FFmpeg has no encoder of PNGs');
  const context = makeCodecContext(engine, codec);
  const frame = makeFrame(engine);
  const packet = makePacket(engine);
  try {
    for (const target of [context, frame]) {
      target.width = size.width;
      target.height = size.height;
    }
    context.pixelFormat = constants.AV_PIX_FMT_RGB24;
    context.timeBase = new av.Rational(1, 1);
    context.threadCount = 1;
    frame.format = constants.AV_PIX_FMT_RGB24;
    frame.fromBuffer(Buffer.from(rgb.buffer, rgb.byteOffset, rgb.byteLength));
    const isMade =
      context.open2Sync(codec, null) >= 0 &&
      context.sendFrameSync(frame) >= 0 &&
      context.receivePacketSync(packet) >= 0;
    const png = isMade ? packet.data : null;
    if (png === null) throw new Error('FFmpeg does not make a PNG of this');
    return new Uint8Array(png);
  } finally {
    freeCodecContext(context);
    freeFrame(frame);
    freePacket(packet);
  }
}
