/**
 * What a receiver of a call takes of the bridge's video: which formats as they are, and which pictures are made of the
 * others. Source: calls-and-media.md, Resolution.
 */
import type { CallMedia } from '../../model/call.ts';
import type { PictureShape, VideoFrameFormat } from '../../model/picture.ts';

/** `frames`: a device that speaks the protocol; `pictures`: one that takes JPEGs alone, and who watches the output; `source`: who watches that. */
export type ReceiverKind = 'frames' | 'pictures' | 'source';

export interface VideoTaking {
  /** What is passed on untouched. */
  readonly passes: VideoFrameFormat | null;
  /** What is made of any other; null: nothing. */
  readonly shape: PictureShape | null;
}

export type VideoTakings = Readonly<Record<ReceiverKind, VideoTaking>>;

const nothing: VideoTaking = { passes: null, shape: null };
const h264: VideoTaking = { passes: 'h264', shape: null };
const ownSize: VideoTaking = { passes: 'mjpeg', shape: { mode: 'auto', screen: null } };

/** No media is known yet, or there is no video. */
export const nothingTaken: VideoTakings = { frames: nothing, pictures: nothing, source: nothing };

/** Who takes the same pictures has the same shape, the object itself. */
export function takingsOf({ downVideo, resolution, screen }: CallMedia): VideoTakings {
  if (downVideo === 'none') return nothingTaken;
  if (downVideo === 'h264') return { frames: h264, pictures: ownSize, source: ownSize };
  if (resolution === 'auto') return { frames: ownSize, pictures: ownSize, source: ownSize };
  const fitted: VideoTaking = { passes: null, shape: { mode: resolution, screen } };
  return { frames: fitted, pictures: fitted, source: ownSize };
}
