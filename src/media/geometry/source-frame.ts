/** What a frame tells of itself before it is decoded. Source: calls-and-media.md, Legs and Resolution. */
import type { Size } from '../../model/call.ts';
import type { SourceFrame } from '../../model/picture.ts';
import { describeH264 } from './h264-stream.ts';
import { describeH265 } from './h265-stream.ts';
import type { CodedFrame, FrameContent } from './coded-frame.ts';
import { jpegSize } from './jpeg-header.ts';

export interface FrameDescription {
  /** The payload's own; null: it does not tell. */
  readonly size: Size | null;
  /** Decoding can start at it. */
  readonly isKey: boolean;
  /** Of formats whose frames stand alone always `picture`. */
  readonly content: FrameContent;
}

/** Looks into the payload no further than its headers go, keeps nothing of it, and takes whatever bytes there are. */
export function describeFrame(frame: SourceFrame): FrameDescription {
  switch (frame.format) {
    case 'h264':
      return describeCoded(frame, describeH264(frame.payload));
    case 'h265':
      return describeCoded(frame, describeH265(frame.payload));
    case 'mjpeg':
      return { size: jpegSize(frame.payload), isKey: true, content: 'picture' };
    case 'i420':
      return { size: { width: frame.width, height: frame.height }, isKey: true, content: 'picture' };
  }
}

/**
 * Some encoders start anew with an I picture that is no IDR: parameter sets and the bridge's word together count as
 * well. Neither does alone: who repeats parameter sets says nothing by them, and a flag may be wrong.
 */
function describeCoded(frame: SourceFrame, { hasKey, size, content }: CodedFrame): FrameDescription {
  return { size, isKey: hasKey || (frame.isKeyFrame && size !== null), content };
}
