/** A test tone: packets of 20 ms in any format with an encoder. */
import { messageOf, fail, succeed, type Result } from '../../lib/result.ts';
import type { Engine } from '../../media/codec/engine.ts';
import { openSoundEncoder } from '../../media/codec/sound-encoder.ts';
import type { AudioFrameFormat, SoundShape } from '../../model/media/sound.ts';
import { soundBlockMs } from '../../model/media/sound-limits.ts';

export interface Tone {
  readonly format: AudioFrameFormat;
  /** The packet at `atMs` after the first; null: the encoder returned none. */
  packetAt(atMs: number): Uint8Array | null;
  close(): void;
}

const toneHz = 440;
const amplitude = 8192;

/** `engine` null: only A-law and PCM. An error is the reason why there is no tone. AMR is mono. */
export function openTone(engine: Engine | null, shape: SoundShape): Result<Tone, string> {
  const { format, rate } = shape;
  const channels = format === 'amr' ? 1 : shape.channels;
  try {
    const encoder = openSoundEncoder(engine, { format, rate, channels });
    return succeed({
      format,
      packetAt: (atMs) => encoder.encode(samplesAt(atMs, rate, channels)),
      close: () => encoder.close(),
    });
  } catch (error) {
    return fail(messageOf(error));
  }
}

function samplesAt(atMs: number, rate: number, channels: number): Int16Array<ArrayBuffer> {
  const first = Math.round((atMs * rate) / 1000);
  const samples = new Int16Array(((rate * soundBlockMs) / 1000) * channels);
  for (let at = 0; at < samples.length; at += 1) {
    const turns = (toneHz * (first + Math.floor(at / channels))) / rate;
    samples[at] = Math.trunc(amplitude * Math.sin(2 * Math.PI * turns));
  }
  return samples;
}
