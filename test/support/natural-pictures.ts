/** Turns photographs into films: a camera that pans and zooms, with a cut between photographs. */
import type { Size } from '../../src/model/call.ts';
import { runTool } from './debian-tools.ts';
import { photographs } from './photographs.ts';

export interface NaturalPictures extends Size {
  readonly framesPerPhotograph: number;
}

/** Writes a film to `path` as raw RGB in a NUT file, 15 frames per second. */
export async function filmPhotographs(
  path: string,
  { width, height, framesPerPhotograph }: NaturalPictures,
): Promise<void> {
  const files = photographs();
  const move = `zoompan=z=1+0.01*on:x=4*on:y=2*on:d=${framesPerPhotograph}:s=${width}x${height}:fps=15`;
  const twice = `${2 * width}:${2 * height}`;
  const still = `scale=${twice}:force_original_aspect_ratio=increase:flags=bicubic,crop=${twice}`;
  const shots = files.map((_, index) => `[${index}]${still},${move},format=rgb24,setsar=1[shot${index}]`);
  const all = files.map((_, index) => `[shot${index}]`).join('');
  const film = `${shots.join(';')};${all}concat=n=${files.length}`;
  const inputs = files.flatMap((file) => ['-i', file]);
  const output = ['-c:v', 'rawvideo', '-f', 'nut', path];
  await runTool('ffmpeg', ['-nostdin', '-v', 'error', ...inputs, '-filter_complex', film, ...output]);
}
