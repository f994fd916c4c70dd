/**
 * The kinds of calls of the soak. Of ten calls, six have audio in both directions, transcoded in both; of these, two have WebRTC
 * devices, one with JPEG and one with H.264, and one sends JPEG to a bridge that receives H.264.
 */
import type { SoundShape } from '../../../src/model/media/sound.ts';

export interface CallKind {
  readonly device: 'websocket' | 'webrtc';
  readonly film: 'h264' | 'mjpeg';
  readonly downVideo: 'h264' | 'mjpeg';
  /** Format of the device's video, which the bridge receives as H.264. Null: none. */
  readonly upVideo: 'h264' | 'mjpeg' | null;
  readonly sound: CallSound | null;
}

interface IssuedSound extends SoundShape {
  readonly format: 'alaw' | 'amr' | 'opus';
  readonly rate: 8000 | 16_000;
  readonly channels: 1;
}

/** Each direction has different formats at its ends. */
export interface CallSound {
  readonly device: IssuedSound;
  /** Format of a WebRTC device, instead of `device`. */
  readonly rtc?: SoundShape;
  readonly bridgeSends: SoundShape;
  readonly bridgeTakes: SoundShape;
}

export const alaw: IssuedSound = { format: 'alaw', rate: 8000, channels: 1 };
const amr: IssuedSound = { format: 'amr', rate: 8000, channels: 1 };
const opus: IssuedSound = { format: 'opus', rate: 16_000, channels: 1 };
const pcm: SoundShape = { format: 'pcm', rate: 8000, channels: 1 };
const rtc: SoundShape = { format: 'opus', rate: 48_000, channels: 1 };

const picturesOf = {
  h264: { device: 'websocket', film: 'h264', downVideo: 'mjpeg', upVideo: null, sound: null },
  mjpeg: { device: 'websocket', film: 'mjpeg', downVideo: 'mjpeg', upVideo: null, sound: null },
} as const satisfies Record<string, CallKind>;

const kinds: readonly CallKind[] = [
  { ...picturesOf.h264, sound: { device: alaw, bridgeSends: opus, bridgeTakes: pcm } },
  { ...picturesOf.mjpeg, upVideo: 'mjpeg', sound: { device: amr, bridgeSends: alaw, bridgeTakes: opus } },
  {
    ...picturesOf.h264,
    device: 'webrtc',
    sound: { device: alaw, rtc, bridgeSends: alaw, bridgeTakes: pcm },
  },
  picturesOf.mjpeg,
  {
    device: 'webrtc',
    film: 'h264',
    downVideo: 'h264',
    upVideo: 'h264',
    sound: { device: alaw, rtc, bridgeSends: pcm, bridgeTakes: alaw },
  },
  picturesOf.h264,
  { ...picturesOf.mjpeg, sound: { device: opus, bridgeSends: { ...pcm, rate: 16_000 }, bridgeTakes: alaw } },
  picturesOf.h264,
  picturesOf.mjpeg,
  { ...picturesOf.h264, sound: { device: alaw, bridgeSends: amr, bridgeTakes: amr } },
];

/** The first five indices give one call of each kind. */
export function kindOf(index: number): CallKind {
  return kinds[index % kinds.length] ?? picturesOf.h264;
}
