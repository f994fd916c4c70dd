/** A moving test picture as I420 planes: gradients, colours and blocks, deterministic by picture number. */
import type { Size } from '../../src/model/call.ts';
import { i420Bytes } from '../../src/media/geometry/source-frame.ts';

/** `index`: number of the picture. Sides at least 1; limited range. */
export function movingPicture(size: Size, index: number): Uint8Array<ArrayBuffer> {
  const { width, height } = size;
  const planes = new Uint8Array(i420Bytes(size));
  for (let y = 0; y < height; y += 1)
    for (let x = 0; x < width; x += 1) planes[y * width + x] = luma(x, y, size, index);
  const columns = Math.ceil(width / 2);
  const rows = Math.ceil(height / 2);
  const u = width * height;
  const v = u + columns * rows;
  for (let y = 0; y < rows; y += 1)
    for (let x = 0; x < columns; x += 1) {
      planes[u + y * columns + x] = 64 + Math.round((128 * x) / columns);
      planes[v + y * columns + x] = 192 - (Math.round((128 * (y + index)) / rows) % 128);
    }
  return planes;
}

/** A gradient, with a dark block that crosses the picture and stripes that move down. */
function luma(x: number, y: number, { width, height }: Size, index: number): number {
  const side = Math.max(2, Math.floor(Math.min(width, height) / 4));
  const left = (index * 3) % width;
  const top = (index * 2) % height;
  if (x >= left && x < left + side && y >= top && y < top + side) return 40;
  const stripe = (y + index) % 16 < 2 ? 24 : 0;
  return 40 + stripe + Math.round((150 * (x + y)) / (width + height));
}
