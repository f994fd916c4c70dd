/**
 * The moving test picture for calls without a film: colour bars and a bouncing white square, in I420. Its edges and colours
 * make transcoding faults visible.
 */
import type { Size } from '../../model/call.ts';

/** Y, U and V of the 75 % bars: white, yellow, cyan, green, magenta, red, blue and black. */
const bars = [
  [180, 128, 128],
  [162, 44, 142],
  [131, 156, 44],
  [112, 72, 58],
  [84, 184, 198],
  [65, 100, 212],
  [35, 212, 114],
  [16, 128, 128],
] as const;
const white = 235;
const neutral = 128;

/** `number`: of the frame, from 0. Sides are even. The planes are contiguous, without padding. */
function drawTestPicture({ width, height }: Size, number: number): Uint8Array<ArrayBuffer> {
  const picture = new Uint8Array((width * height * 3) / 2);
  const luma: Plane = { samples: picture.subarray(0, width * height), width, height };
  const chroma = [1, 2].map((channel) => {
    const begin = (width * height * (3 + channel)) / 4;
    const samples = picture.subarray(begin, begin + (width * height) / 4);
    return { samples, width: width / 2, height: height / 2, channel: channel as 1 | 2 };
  });
  drawBars(luma, 0);
  for (const plane of chroma) drawBars(plane, plane.channel);
  const square = bouncingSquare({ width, height }, number);
  const { x, y, width: side } = square;
  const ofChroma = { x: x / 2, y: y / 2, width: side / 2, height: side / 2 };
  for (const plane of chroma) fillArea(plane, ofChroma, neutral);
  fillArea(luma, square, white);
  return picture;
}

interface Plane extends Size {
  readonly samples: Uint8Array;
}

interface Area extends Size {
  readonly x: number;
  readonly y: number;
}

function drawBars({ samples, width, height }: Plane, channel: 0 | 1 | 2): void {
  for (let x = 0; x < width; x += 1)
    samples[x] = bars[Math.floor((x * bars.length) / width)]?.[channel] ?? neutral;
  for (let y = 1; y < height; y += 1) samples.copyWithin(y * width, 0, width);
}

/** Moves back and forth, horizontally and vertically at different speeds. All coordinates are even. */
function bouncingSquare({ width, height }: Size, number: number): Area {
  const side = Math.max(2, Math.floor(Math.min(width, height) / 10) * 2);
  const between = (space: number, step: number): number => {
    const way = Math.max(1, space - side);
    const travelled = (number * step) % (2 * way);
    return 2 * Math.floor(Math.min(travelled, 2 * way - travelled) / 2);
  };
  return {
    x: between(width, Math.ceil(width / 60)),
    y: between(height, Math.ceil(height / 45)),
    width: side,
    height: side,
  };
}

function fillArea({ samples, width }: Plane, area: Area, level: number): void {
  for (let y = area.y; y < area.y + area.height; y += 1)
    samples.fill(level, y * width + area.x, y * width + area.x + area.width);
}

export interface Film {
  readonly framesPerSecond: number | null;
  /** Returns the picture at `atMs`, which must not decrease, in I420. The film repeats after its end. */
  pictureAt(atMs: number, size: Size): Uint8Array<ArrayBuffer>;
  close(): void;
}

export function testFilm(): Film {
  let number = 0;
  return {
    framesPerSecond: null,
    pictureAt: (_atMs, size) => drawTestPicture(size, number++),
    close: () => undefined,
  };
}
