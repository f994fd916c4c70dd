/** Sources of the tests: moving pictures in RGB, before any camera has coded them. */
import { join } from 'node:path';
import { runTool } from '../support/debian-tools.ts';
import { filmPhotographs } from '../support/natural-pictures.ts';

/** Each shows faults that the others hide: photographs, edges in full colours, flat colours, slow changes. */
const patterns = {
  edges: 'testsrc2=s=640x480:r=15',
  bars: 'smptehdbars=s=640x480:r=15',
  gradients:
    'gradients=s=640x480:r=15:seed=1:speed=0.1:n=4:c0=black:c1=orange:c2=teal:c3=white:x0=0:y0=0:x1=1100:y1=800',
} as const;
export type FilmName = 'photographs' | keyof typeof patterns;

const patternFrames = 2;
const naturalPictures = { width: 640, height: 480, framesPerPhotograph: 2 };

/** Films made on first request, as raw RGB of 640 x 480 in NUT files of a directory. */
export class FilmLibrary {
  readonly #directory: string;
  readonly #films = new Map<FilmName, Promise<string>>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Resolves to the film's path. */
  film(name: FilmName): Promise<string> {
    let film = this.#films.get(name);
    if (film === undefined) this.#films.set(name, (film = this.#make(name)));
    return film;
  }

  async #make(name: FilmName): Promise<string> {
    const path = join(this.#directory, `${name}.nut`);
    if (name === 'photographs') await filmPhotographs(path, naturalPictures);
    else {
      const input = ['-f', 'lavfi', '-i', `${patterns[name]},format=rgb24`];
      const output = ['-frames:v', String(patternFrames), '-c:v', 'rawvideo', '-f', 'nut', path];
      await runTool('ffmpeg', ['-nostdin', '-v', 'error', ...input, ...output]);
    }
    return path;
  }
}
