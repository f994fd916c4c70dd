/** The pictures of the story in one: what the phone showed, and what each device made room for, side by side. */
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Engine } from '../../media/codec/engine.ts';
import { decodeJpeg, encodePng, type RgbPicture } from '../../media/codec/picture-file.ts';
import { sizeInWords } from '../bridge/picture-sizes.ts';
import type { ReceivedPicture } from '../simulator/received-pictures.ts';
import type { Timeline } from '../bridge/timeline.ts';

const fileName = 'reveille-demo-pictures.png';
const gap = 8;
/** Of what is between and below them. */
const grey = 40;

export interface NamedPicture extends ReceivedPicture {
  readonly name: string;
}

/** Says where it is; what cannot be written is said, too, and spoils no story. */
export async function savePictures(
  engine: Engine,
  pictures: readonly NamedPicture[],
  directory: string,
  timeline: Timeline,
): Promise<void> {
  const path = join(resolve(directory), fileName);
  const { size, rgb } = sideBySide(pictures.map(({ jpeg }) => decodeJpeg(engine, jpeg)));
  const names = pictures.map((picture) => `${picture.name} ${sizeInWords(picture.size)}`).join(' | ');
  try {
    await writeFile(path, encodePng(engine, size, rgb));
    timeline.notify('demo', `pictures saved: ${path}`, { saved: path }, [`  ${names}`]);
  } catch (error) {
    timeline.notify(
      'demo',
      `pictures not saved: ${(error as Error).message}; name a directory with --pictures`,
    );
  }
}

/** From left to right, their upper edges in line. */
export function sideBySide(pictures: readonly RgbPicture[]): RgbPicture {
  const width = pictures.reduce((sum, { size }) => sum + size.width, gap * Math.max(0, pictures.length - 1));
  const height = Math.max(0, ...pictures.map(({ size }) => size.height));
  const rgb = new Uint8Array(width * height * 3).fill(grey);
  let left = 0;
  for (const { size, rgb: pixels } of pictures) {
    for (let row = 0; row < size.height; row += 1) {
      const line = pixels.subarray(row * size.width * 3, (row + 1) * size.width * 3);
      rgb.set(line, (row * width + left) * 3);
    }
    left += size.width + gap;
  }
  return { size: { width, height }, rgb };
}
