/** What decodes the frames of one format; it says what came of each, and holds the newest picture. */
import type { Frame } from 'node-av/lib';
import type { FrameDrop, PictureShape, SourceFrame } from '../../model/picture.ts';
import type { Reduction } from '../geometry/reduction.ts';
import type { FrameDescription } from '../geometry/source-frame.ts';

/** `waiting`: no picture yet, and nothing is wrong. */
export type SourceStep = 'decoded' | 'waiting' | FrameDrop;

export interface FrameSource {
  /** The picture that was decoded last; its pixels stay until the next frame is taken. */
  readonly frame: Frame;
  /** That picture is smaller than the source by it. */
  readonly reduction: Reduction;
  /** The next frames are of no use before a key frame. */
  readonly keyFrameWanted: boolean;
  /** For this frame a new source does better. */
  isStaleFor(frame: SourceFrame, description: FrameDescription): boolean;
  /** `shapes`: of the pictures that are to be made of it. */
  take(frame: SourceFrame, description: FrameDescription, shapes: readonly PictureShape[]): SourceStep;
  /** A frame was too large to be decoded, or to be used. */
  skipTooLarge(): void;
  /** Frees what it holds; nothing is asked of it any more. */
  close(): void;
}
