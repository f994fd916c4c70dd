/** JPEGs that are damaged or unusual, made from plain ones by cutting, filling, joining and recoding them. */
import { outputOf } from './shown-pictures.ts';
import type { Size } from '../../src/model/call.ts';

export interface UnusualJpeg {
  readonly name: string;
  readonly bytes: Buffer;
  /** The same picture in a plain file. */
  readonly plain: Buffer;
  /** Cut in a scan: FFmpeg and djpeg invent the rest, and a call does not show it. */
  readonly isCut?: boolean;
  readonly size: Size;
}

const usual: Size = { width: 640, height: 480 };
const marker = (number: number, ...content: number[]): Buffer =>
  Buffer.from([0xff, number, (content.length + 2) >> 8, (content.length + 2) & 0xff, ...content]);
const [start, end] = [Buffer.of(0xff, 0xd8), Buffer.of(0xff, 0xd9)];

function film({ width, height }: Size): string[] {
  return ['-nostdin', '-v', 'error', '-f', 'lavfi', '-i', `mandelbrot=s=${width}x${height}:start_scale=0.3`];
}

function byFfmpeg(size: Size, pixels: string, more: readonly string[] = []): Buffer {
  const output = [
    '-frames:v',
    '1',
    '-c:v',
    'mjpeg',
    '-q:v',
    '2',
    '-pix_fmt',
    pixels,
    ...more,
    '-f',
    'mjpeg',
    'pipe:1',
  ];
  return outputOf('ffmpeg', [...film(size), ...output]);
}

function byCjpeg(size: Size, args: readonly string[], pixels = 'rgb24'): Buffer {
  const codec = pixels === 'gray' ? 'pgm' : 'ppm';
  const map = ['-frames:v', '1', '-pix_fmt', pixels, '-c:v', codec, '-f', 'image2pipe', 'pipe:1'];
  return outputOf('cjpeg', ['-quality', '92', ...args], outputOf('ffmpeg', [...film(size), ...map]));
}

/** Removes all segments with this number. */
function without(jpeg: Buffer, number: number): Buffer {
  const kept: Buffer[] = [jpeg.subarray(0, 2)];
  let at = 2;
  while (jpeg[at + 1] !== 0xda) {
    const next = at + 2 + jpeg.readUInt16BE(at + 2);
    if (jpeg[at + 1] !== number) kept.push(jpeg.subarray(at, next));
    at = next;
  }
  return Buffer.concat([...kept, jpeg.subarray(at)]);
}

function insertedAtStart(jpeg: Buffer, ...more: readonly Buffer[]): Buffer {
  return Buffer.concat([jpeg.subarray(0, 2), ...more, jpeg.subarray(2)]);
}

/** Fill bytes before every marker of a header. */
function filled(jpeg: Buffer): Buffer {
  const pieces: Buffer[] = [jpeg.subarray(0, 2)];
  let at = 2;
  for (;;) {
    const next = at + 2 + jpeg.readUInt16BE(at + 2);
    pieces.push(Buffer.alloc(3, 0xff), jpeg.subarray(at, next));
    if (jpeg[at + 1] === 0xda)
      return Buffer.concat([...pieces, jpeg.subarray(next, -2), Buffer.alloc(5, 0xff), end]);
    at = next;
  }
}

export function unusualJpegs(): UnusualJpeg[] {
  return [
    ...kinds(),
    ...damages('baseline', byCjpeg(usual, [])),
    ...damages('progressive', byCjpeg(usual, ['-progressive'])),
    ...damages('with restarts', byCjpeg(usual, ['-restart', '3'])),
    ...damages('of FFmpeg', byFfmpeg(usual, 'yuvj420p')),
  ];
}

function damages(kind: string, plain: Buffer): UnusualJpeg[] {
  const half = plain.subarray(0, plain.length / 2);
  const whole = plain.subarray(0, -2);
  const make = (name: string, bytes: Buffer, isCut = false): UnusualJpeg => ({
    name: `${kind}, ${name}`,
    bytes,
    plain,
    isCut,
    size: usual,
  });
  return [
    make('plain', plain),
    make('without its end', whole),
    make('without the last byte', plain.subarray(0, -1)),
    make('without its end, zeros behind', Buffer.concat([whole, Buffer.alloc(5000)])),
    make('half of another behind it', Buffer.concat([plain, half])),
    make('half of another behind it, without its end', Buffer.concat([whole, half])),
    make('another behind it', Buffer.concat([plain, plain])),
    make('half of another before it', Buffer.concat([half, plain])),
    make('zeros before it', Buffer.concat([Buffer.alloc(100), plain])),
    make('zeros behind it', Buffer.concat([plain, Buffer.alloc(100)])),
    make(
      'text before it',
      Buffer.concat([Buffer.from('--frame\r\nContent-Type: image/jpeg\r\n\r\n'), plain]),
    ),
    make('text behind it', Buffer.concat([plain, Buffer.from('\r\n--frame--\r\n')])),
    make('its start three times', Buffer.concat([start, start, plain])),
    make('its end twice', Buffer.concat([plain, end])),
    make('a comment behind its end', Buffer.concat([plain, marker(0xfe, 1, 2, 3)])),
    make(
      'segments of unknown use',
      insertedAtStart(plain, marker(0xe5, 0xff, 0xd8, 0xff, 0xd9), marker(0xef, 1), marker(0xfe, 65)),
    ),
    make(
      'a thumbnail in a segment',
      insertedAtStart(plain, marker(0xe1, ...byFfmpeg({ width: 32, height: 32 }, 'yuvj420p'))),
    ),
    make('fill bytes before its markers', filled(plain)),
    make('cut in its middle', half, true),
    make('cut in its middle, given an end', Buffer.concat([half, end]), true),
    make('cut in its middle, zeros behind', Buffer.concat([half, Buffer.alloc(3000)]), true),
    make('cut 20 bytes before its end', plain.subarray(0, -20), true),
    make('cut in its header', plain.subarray(0, 100), true),
    make('two halves', Buffer.concat([half, half]), true),
  ];
}

function kinds(): UnusualJpeg[] {
  const make = (name: string, bytes: Buffer, size = usual, plain = bytes): UnusualJpeg => ({
    name,
    bytes,
    plain,
    size,
  });
  const samplings = ['1x1', '2x1', '1x2', '2x2', '4x1', '1x4', '4x2'];
  const sizes = [usual, { width: 641, height: 479 }, { width: 333, height: 251 }, { width: 17, height: 35 }];
  const standard = byFfmpeg(usual, 'yuvj422p', ['-huffman', 'default']);
  const motion = marker(0xe0, ...Buffer.from('AVI1'), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  return [
    ...sizes.flatMap((size) =>
      samplings.map((sampling) =>
        make(`${sampling}, ${size.width}x${size.height}`, byCjpeg(size, ['-sample', sampling]), size),
      ),
    ),
    ...samplings.map((sampling) =>
      make(`progressive ${sampling}`, byCjpeg(usual, ['-progressive', '-sample', sampling])),
    ),
    make('4:1:1 of FFmpeg', byFfmpeg(usual, 'yuv411p', ['-color_range', 'pc', '-strict', 'unofficial'])),
    make('4:4:4 of FFmpeg', byFfmpeg(usual, 'yuvj444p')),
    make('grey', byCjpeg(usual, ['-grayscale'])),
    make('grey of one component', byCjpeg(usual, [], 'gray')),
    make('RGB', byCjpeg(usual, ['-rgb'])),
    make('no Huffman tables', without(standard, 0xc4), usual, standard),
    make(
      'no Huffman tables, as in AVI',
      insertedAtStart(without(without(standard, 0xc4), 0xe0), motion),
      usual,
      standard,
    ),
    make('no JFIF', without(byCjpeg(usual, []), 0xe0)),
    make(
      'lossless',
      outputOf('ffmpeg', [
        ...film(usual),
        '-frames:v',
        '1',
        '-c:v',
        'ljpeg',
        '-pix_fmt',
        'yuvj420p',
        '-f',
        'mjpeg',
        'pipe:1',
      ]),
    ),
  ];
}
