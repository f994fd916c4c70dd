/**
 * Clips of camera pans over photographs, encoded by FFmpeg as phones do, and equal for all contenders. They are generated in a
 * directory that is removed with the process.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Size } from '../../src/model/call.ts';
import { makeSource, type Source } from '../../test/pictures/sources.ts';
import { missingTool } from '../../test/support/debian-tools.ts';
import { filmPhotographs } from '../../test/support/natural-pictures.ts';

export type ClipFormat = 'mjpeg' | 'h264';

/** Path and format of a clip, for a process that reads it. */
export interface ClipFile extends Size {
  readonly format: ClipFormat;
  readonly path: string;
}

export interface Clip extends Source {
  readonly file: ClipFile;
  readonly repeated: string;
}

interface ClipPlan {
  readonly framesPerPhotograph: number;
  readonly repeats: number;
}

/** JPEG of good quality; H.264 of 0.8 Mbit/s for 640 x 480, without B-frames. */
const codings: Readonly<Record<ClipFormat, readonly string[]>> = {
  mjpeg: ['-c:v', 'mjpeg', '-q:v', '3'],
  h264: [
    ...'-c:v libx264 -preset veryfast -tune zerolatency -profile:v baseline'.split(' '),
    ...'-b:v 800k -maxrate 800k -bufsize 800k -g 150'.split(' '),
  ],
};

export class NaturalClips {
  readonly directory = mkdtempSync(join(tmpdir(), 'reveille-clips-'));
  readonly #plan: ClipPlan;

  /** Throws, with advice, if FFmpeg is missing. */
  constructor(plan: ClipPlan) {
    this.#plan = plan;
    process.once('exit', this.remove);
    const missing = missingTool('ffmpeg');
    if (missing !== null) throw new Error(missing);
  }

  async clip(format: ClipFormat, size: Size): Promise<Clip> {
    const { framesPerPhotograph, repeats } = this.#plan;
    const directory = mkdtempSync(join(this.directory, `${format}-`));
    const film = join(directory, 'film.nut');
    await filmPhotographs(film, { ...size, framesPerPhotograph });
    const recipe = { film: 'photographs', format, ...size, coding: codings[format] } as const;
    const source = await makeSource(directory, { film: async () => film }, recipe);
    const path = join(directory, `source.${format}`);
    const repeated = join(directory, `repeated.${format}`);
    const once = readFileSync(path);
    writeFileSync(repeated, Buffer.concat(Array.from({ length: repeats }, () => once)));
    return { ...source, file: { format, path, ...size }, repeated };
  }

  readonly remove = (): void => {
    process.off('exit', this.remove);
    rmSync(this.directory, { recursive: true, force: true });
  };
}
