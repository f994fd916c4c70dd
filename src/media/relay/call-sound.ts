/** The sound of a call, as its credentials say, and where a leg or a viewer differs from it. Source: calls-and-media.md, Legs. */
import type { CallMedia } from '../../model/call.ts';
import type { SampleShape, SoundShape } from '../../model/media/sound.ts';
import type { DeviceOutput, ViewerOutput } from './send-queue.ts';
import { tellsItsShape } from './sound-route.ts';

/** `media`: null: no leg is there yet, and nothing is sent either. */
export function soundOfCall(media: CallMedia | null): SoundShape {
  if (media === null) return { format: 'alaw', rate: 8000, channels: 1 };
  return { format: media.downAudio, rate: media.audioRate, channels: media.audioChannels };
}

/** Null: none. */
export function soundTaken(out: DeviceOutput | ViewerOutput, call: SoundShape): SoundShape | null {
  if ('sendPicture' in out) return null;
  return out.sound === undefined && 'takes' in out ? call : (out.sound ?? null);
}

/** Of packets that do not tell. `taken`: by the device that sends them. */
export function soundSent(taken: SoundShape | null, call: SoundShape): SampleShape {
  return taken === null || tellsItsShape(taken.format) ? call : taken;
}
