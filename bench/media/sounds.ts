/** Sound as bridges send it: noise that swells and fades like speech, as PCM and as Opus, encoded by FFmpeg. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SoundPacket } from '../../src/model/media/sound.ts';
import { soundBlockMs } from '../../src/model/media/sound-limits.ts';
import { runTool } from '../../test/support/debian-tools.ts';
import { opusPackets } from '../../test/support/opus-file.ts';

export const soundFormats = ['pcm', 'opus'] as const;

/** Mono. */
export interface SoundFile {
  readonly format: (typeof soundFormats)[number];
  readonly path: string;
}

export interface Sound {
  readonly file: SoundFile;
  /** Arguments by which FFmpeg makes A-law of the sound and its repeats, all in one file. */
  readonly conversion: readonly string[];
}

const source = 'anoisesrc=color=pink:amplitude=0.6:seed=1,tremolo=f=4:d=0.9';
/** Opus of 32 kbit/s, as phones send it. */
const codings = {
  pcm: { extension: 's16le', coding: ['-ar', '8000', '-f', 's16le'] },
  opus: { extension: 'ogg', coding: '-ar 48000 -c:a libopus -application voip -b:a 32k -f ogg'.split(' ') },
} as const;
const raw = ['-f', 's16le', '-ar', '8000', '-ac', '1'];

export async function makeSound(
  directory: string,
  format: SoundFile['format'],
  { seconds, repeats }: { readonly seconds: number; readonly repeats: number },
): Promise<Sound> {
  const { extension, coding } = codings[format];
  const [path, repeated] = ['once', 'repeated'].map((name) => join(directory, `${name}.${extension}`));
  if (path === undefined || repeated === undefined) throw new Error('two paths were made');
  const shape = format === 'pcm' ? raw : [];
  const quiet = '-nostdin -v error -y'.split(' ');
  await runTool('ffmpeg', [...quiet, '-f', 'lavfi', '-i', source, '-t', String(seconds), ...coding, path]);
  const loop = ['-stream_loop', String(repeats - 1), ...shape, '-i', path, '-c', 'copy'];
  await runTool('ffmpeg', [...quiet, ...loop, '-f', extension, repeated]);
  const input = ['-filter_threads', '1', '-threads', '1', ...shape, '-i', repeated];
  const output = '-ar 8000 -threads 1 -c:a pcm_alaw -f alaw /dev/null'.split(' ');
  // Above `fatal` FFmpeg reports a timestamp at each joint of the repeats.
  return { file: { format, path }, conversion: [...quiet, '-v', 'fatal', ...input, ...output] };
}

/** Packets of 20 ms. */
export function readSound({ format, path }: SoundFile): SoundPacket[] {
  const bytes = readFileSync(path);
  const payloads = format === 'opus' ? opusPackets(bytes) : blocksOf(bytes);
  return payloads.map((payload, index) => ({
    format,
    timestampMs: index * soundBlockMs,
    payload: new Uint8Array(payload),
  }));
}

function blocksOf(bytes: Buffer): Buffer[] {
  const blockBytes = (8000 / 1000) * soundBlockMs * 2;
  const count = Math.floor(bytes.length / blockBytes);
  return Array.from({ length: count }, (_, index) =>
    bytes.subarray(index * blockBytes, (index + 1) * blockBytes),
  );
}
