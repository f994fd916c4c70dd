/**
 * Reads what a frame tells of itself before it is decoded, for each format. Source: calls-and-media.md, Legs and
 * Resolution.
 */
import type { Size } from '../../model/call.ts';
import type { FrameDescription, SourceFrame } from '../../model/media/picture.ts';
import { describeCodedFrame, isSlice, nextNalUnit } from './nal-units.ts';
import { h264 } from './h264-stream.ts';
import { h265 } from './h265-stream.ts';
import { jpegSize } from './jpeg.ts';

export const syntaxes = { h264, h265 };
export type CodedFormat = keyof typeof syntaxes;

/** Reads the payload no further than its headers go, keeps nothing of it, and takes whatever bytes there are. */
export function describeFrame(frame: SourceFrame): FrameDescription {
  switch (frame.format) {
    case 'h264':
    case 'h265':
      return describeCoded(frame, frame.format);
    case 'mjpeg':
      return { size: jpegSize(frame.payload), isKey: true, content: 'picture' };
    case 'i420':
      return { size: { width: frame.width, height: frame.height }, isKey: true, content: 'picture' };
  }
}

/**
 * Some encoders start anew with an I picture that is no IDR: parameter sets and the bridge's flag together count as
 * well. Neither does alone: a sender that repeats parameter sets says nothing by them, and a flag may be wrong.
 */
function describeCoded({ payload, isKeyFrame }: SourceFrame, format: CodedFormat): FrameDescription {
  const { hasKey, size, content } = describeCodedFrame(payload, syntaxes[format]);
  return { size, isKey: hasKey || (isKeyFrame && size !== null), content };
}

/** Nothing from the first slice on refers to what was before it. */
export function startsAnew(format: CodedFormat, bytes: Uint8Array): boolean {
  const syntax = syntaxes[format];
  for (let at = nextNalUnit(bytes, 0); at !== -1; at = nextNalUnit(bytes, at))
    if (isSlice(syntax.kindOf(bytes, at))) return syntax.startsAnew(bytes, at);
  return false;
}

/**
 * Bytes of a frame of I420: a plane of Y, then U and V with half its columns and rows, without padding; an odd side has
 * its half rounded up. Source: calls-and-media.md, Legs.
 */
export function i420Bytes({ width, height }: Size): number {
  return width * height + 2 * Math.ceil(width / 2) * Math.ceil(height / 2);
}
