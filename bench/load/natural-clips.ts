/**
 * Clips of what a camera sees, as a bridge sends them, for all contenders the same: photographs that are panned over, coded
 * by FFmpeg. They are made in a directory that goes with the process.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Size } from '../../src/model/call.ts';
import { makeSource, type Source } from '../../test/pictures/sources.ts';
import { missingTool } from '../../test/support/debian-tools.ts';
import { filmPhotographs } from '../../test/support/natural-pictures.ts';

export type ClipFormat = 'mjpeg' | 'h264';

/** Where a clip is, for a process that reads it by itself. */
export interface ClipFile extends Size {
  readonly format: ClipFormat;
  readonly path: string;
}

export interface Clip extends Source {
  readonly file: ClipFile;
  /** The clip over and over. */
  readonly repeated: string;
}

export interface ClipPlan {
  readonly framesPerPhotograph: number;
  /** How often the repeated clip has the clip in it. */
  readonly repeats: number;
}

/** As phones do: JPEGs of a good quality; H.264 of 0.8 Mbit/s for 640 x 480, without frames that look ahead. */
const codings: Readonly<Record<ClipFormat, readonly string[]>> = {
  mjpeg: ['-c:v', 'mjpeg', '-q:v', '3'],
  h264: words(
    '-c:v libx264 -preset veryfast -tune zerolatency -profile:v baseline',
    '-b:v 800k -maxrate 800k -bufsize 800k -g 150',
  ),
};

function words(...lines: readonly string[]): string[] {
  return lines.flatMap((line) => line.split(' '));
}

export class NaturalClips {
  readonly #plan: ClipPlan;
  readonly #directory = mkdtempSync(join(tmpdir(), 'reveille-clips-'));
  readonly #films = new Map<string, Promise<string>>();

  /** Throws, with what to do, where there is no FFmpeg. */
  constructor(plan: ClipPlan) {
    this.#plan = plan;
    process.once('exit', this.#remove);
    const missing = missingTool('ffmpeg');
    if (missing !== null) throw new Error(missing);
  }

  get directory(): string {
    return this.#directory;
  }

  async clip(format: ClipFormat, size: Size): Promise<Clip> {
    const directory = mkdtempSync(join(this.#directory, `${format}-`));
    const library = { film: () => this.#film(size) };
    const recipe = { film: 'photographs', format, ...size, coding: codings[format] } as const;
    const source = await makeSource(directory, library, recipe);
    const path = join(directory, `source.${format}`);
    const repeated = join(directory, `repeated.${format}`);
    const once = readFileSync(path);
    writeFileSync(repeated, Buffer.concat(Array.from({ length: this.#plan.repeats }, () => once)));
    return { ...source, file: { format, path, ...size }, repeated };
  }

  remove(): void {
    process.off('exit', this.#remove);
    this.#remove();
  }

  #film({ width, height }: Size): Promise<string> {
    const { framesPerPhotograph } = this.#plan;
    const name = `${width}x${height}`;
    const path = join(this.#directory, `${name}.nut`);
    const film =
      this.#films.get(name) ?? filmPhotographs(path, { width, height, framesPerPhotograph }).then(() => path);
    this.#films.set(name, film);
    return film;
  }

  readonly #remove = (): void => rmSync(this.#directory, { recursive: true, force: true });
}
