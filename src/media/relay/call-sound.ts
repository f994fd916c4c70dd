/** The sound of a call by its credentials, and of legs or viewers that differ from it. Source: calls-and-media.md, Legs. */
import type { CallMedia } from '../../model/call.ts';
import { isSelfDescribing, type SampleShape, type SoundShape } from '../../model/media/sound.ts';
import type { DeviceOutput, ViewerOutput } from './send-queue.ts';

/** `media`: null before the first leg, when nothing is sent. */
export function soundOfCall(media: CallMedia | null): SoundShape {
  if (media === null) return { format: 'alaw', rate: 8000, channels: 1 };
  return { format: media.downAudio, rate: media.audioRate, channels: media.audioChannels };
}

export function soundTaken(out: DeviceOutput | ViewerOutput, call: SoundShape): SoundShape | null {
  if ('sendPicture' in out) return null;
  return out.sound === undefined && 'takes' in out ? call : (out.sound ?? null);
}

/** The sound shape of packets that do not describe themselves. `taken`: the sound that the sending device accepts. */
export function soundSent(taken: SoundShape | null, call: SoundShape): SampleShape {
  return taken === null || isSelfDescribing(taken.format) ? call : taken;
}
