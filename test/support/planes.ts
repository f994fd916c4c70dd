/** Raw 4:2:0 pictures: three planes, 8 bits per sample. */
import type { Size } from '../../src/model/call.ts';

export interface Plane extends Size {
  readonly samples: Uint8Array;
}

export const planeNames = ['Y', 'U', 'V'] as const;
export type PlaneName = (typeof planeNames)[number];
export type Planes = Readonly<Record<PlaneName, Plane>>;

/** Splits consecutive pictures of one size. Throws if bytes are left over. */
export function splitPlanes(bytes: Uint8Array, { width, height }: Size): Planes[] {
  const luma = { width, height };
  const chroma = { width: Math.ceil(width / 2), height: Math.ceil(height / 2) };
  const pictures: Planes[] = [];
  let offset = 0;
  const take = (size: Size): Plane => {
    const start = offset;
    offset += size.width * size.height;
    return { ...size, samples: bytes.subarray(start, offset) };
  };
  while (offset < bytes.length) pictures.push({ Y: take(luma), U: take(chroma), V: take(chroma) });
  if (offset > bytes.length) throw new Error(`${bytes.length} bytes are no pictures of ${width}x${height}`);
  return pictures;
}
