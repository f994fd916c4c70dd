/** Parses the headers of a JPEG, independently of the code under test. ITU-T T.81, Annex B. */
import type { Size } from '../../src/model/call.ts';

export interface JpegStructure extends Size {
  /** 0xc0: baseline; 0xc2: progressive. */
  readonly frameMarker: number;
  readonly bitsPerSample: number;
  /** Horizontal times vertical factor of each component. */
  readonly sampling: readonly string[];
  /** True: JFIF, so colours are BT.601 at full range; without it and Adobe's marker, decoders guess. */
  readonly isJfif: boolean;
  readonly comments: readonly string[];
  /** True: ends with the end-of-image marker. */
  readonly isEnded: boolean;
}

/** Reads up to the scan. Throws for a malformed header or a missing frame header. */
export function jpegStructure(bytes: Uint8Array): JpegStructure {
  const jpeg = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (jpeg.readUInt16BE(0) !== 0xffd8) throw new Error('no JPEG');
  let frame: Omit<JpegStructure, 'isJfif' | 'comments' | 'isEnded'> | null = null;
  let isJfif = false;
  const comments: string[] = [];
  for (let at = 2; ; at += 2 + jpeg.readUInt16BE(at + 2)) {
    if (jpeg[at] !== 0xff) throw new Error(`no marker at ${at}`);
    const marker = jpeg[at + 1] ?? 0;
    if (marker === 0xda) break;
    const segment = jpeg.subarray(at + 4, at + 2 + jpeg.readUInt16BE(at + 2));
    if (marker === 0xe0) isJfif ||= segment.subarray(0, 5).equals(Buffer.from('JFIF\0'));
    if (marker === 0xfe) comments.push(segment.toString('latin1'));
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker))
      frame = frameHeader(marker, segment);
  }
  if (frame === null) throw new Error('no frame header');
  return { ...frame, isJfif, comments, isEnded: jpeg.readUInt16BE(jpeg.length - 2) === 0xffd9 };
}

function frameHeader(
  frameMarker: number,
  segment: Buffer,
): Omit<JpegStructure, 'isJfif' | 'comments' | 'isEnded'> {
  const sampling = Array.from({ length: segment.readUInt8(5) }, (_, index) => {
    const factors = segment.readUInt8(7 + 3 * index);
    return `${factors >> 4}x${factors & 15}`;
  });
  return {
    frameMarker,
    bitsPerSample: segment.readUInt8(0),
    height: segment.readUInt16BE(1),
    width: segment.readUInt16BE(3),
    sampling,
  };
}
