/** The films of the soak's bridges: short, of several sizes, and each starting with a key frame; as complete messages. */
import type { Engine } from '../../../src/media/codec/engine.ts';
import type { Size } from '../../../src/model/call.ts';
import type { SourceFrame } from '../../../src/model/media/picture.ts';
import { encodeFrameHeader } from '../../../src/protocol/media/frame-header.ts';
import { h264Film, jpegFilm } from '../../support/coded-frames.ts';

export const filmSizes: readonly Size[] = [
  { width: 640, height: 480 },
  { width: 320, height: 240 },
  { width: 240, height: 320 },
];
const framesOfFilm = 15;

export type Film = readonly Buffer[];

export interface FilmLibraries {
  readonly h264: readonly Film[];
  readonly mjpeg: readonly Film[];
}

export function makeFilms(engine: Engine): FilmLibraries {
  return {
    h264: filmSizes.map((size) => messagesOf(h264Film(engine, size, framesOfFilm))),
    mjpeg: filmSizes.map((size) => messagesOf(jpegFilm(engine, size, framesOfFilm))),
  };
}

function messagesOf(frames: readonly SourceFrame[]): Film {
  return frames.map(({ payload, ...frame }, index) => {
    const header = { kind: 'video', ...frame, isKeyFrame: index === 0, timestampMs: 0 } as const;
    return Buffer.concat([encodeFrameHeader(header), payload]);
  });
}
