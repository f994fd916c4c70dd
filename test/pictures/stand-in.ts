/** The FFmpeg program in place of our transcoder: correct pictures, and pictures with one fault. */
import { runTool } from '../support/debian-tools.ts';
import type { Planes } from '../support/planes.ts';
import { decodeJpegs, referenceFilter, type Expectation, type Understanding } from './reference.ts';
import type { Source } from './sources.ts';

/** `qscale` on FFmpeg's scale; 3 is about 80 on libjpeg's. */
export async function standInPictures(
  source: Source,
  expectation: Expectation,
  understanding: Understanding = source,
  qscale = 3,
): Promise<Planes[]> {
  const filter = ['-vf', referenceFilter(expectation, understanding), '-fps_mode', 'passthrough'];
  const encoding = ['-c:v', 'mjpeg', '-q:v', String(qscale), '-f', 'mjpeg', 'pipe:1'];
  const jpegs = await runTool('ffmpeg', ['-nostdin', '-v', 'error', ...source.input, ...filter, ...encoding]);
  return decodeJpegs([jpegs], expectation.output);
}
