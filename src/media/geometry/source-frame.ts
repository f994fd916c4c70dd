/** Describes a frame of any format before it is decoded. Source: calls-and-media.md, Legs and Resolution. */
import type { Size } from '../../model/call.ts';
import type { FrameDescription, SourceFrame } from '../../model/media/picture.ts';
import { describeCodedFrame, isSlice, nextNalUnit } from './nal-units.ts';
import { h264 } from './h264-stream.ts';
import { h265 } from './h265-stream.ts';
import { jpegSize } from './jpeg.ts';

export const syntaxes = { h264, h265 };
export type CodedFormat = keyof typeof syntaxes;

/** Reads only the headers of the payload, keeps nothing, and accepts any bytes. */
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
 * Some encoders restart with an I picture that is not an IDR: parameter sets and the bridge's flag together count as a key frame, but
 * neither does alone: some senders repeat parameter sets, and a flag may be wrong.
 */
function describeCoded({ payload, isKeyFrame }: SourceFrame, format: CodedFormat): FrameDescription {
  const { hasKey, size, content } = describeCodedFrame(payload, syntaxes[format]);
  return { size, isKey: hasKey || (isKeyFrame && size !== null), content };
}

/** No frame from the first slice on refers to an earlier one. */
export function startsAnew(format: CodedFormat, bytes: Uint8Array): boolean {
  const syntax = syntaxes[format];
  for (let at = nextNalUnit(bytes, 0); at !== -1; at = nextNalUnit(bytes, at))
    if (isSlice(syntax.kindOf(bytes, at))) return syntax.startsAnew(bytes, at);
  return false;
}

/**
 * Bytes of an I420 frame: a Y plane, then U and V with half its columns and rows, rounded up, without padding. Source:
 * calls-and-media.md, Legs.
 */
export function i420Bytes({ width, height }: Size): number {
  return width * height + 2 * Math.ceil(width / 2) * Math.ceil(height / 2);
}
