/**
 * How like the source scaled and not coded again the pictures of each contender are, and the setting with which a peer's
 * are as like it as ours: without it a rate says nothing.
 */
import { decodeJpegs, referencePlanes, type Expectation } from '../../test/pictures/reference.ts';
import { ourPictures } from '../../test/pictures/our-pictures.ts';
import type { Planes } from '../../test/support/planes.ts';
import { planeSimilarity } from '../../test/support/ssim.ts';
import { ffmpegPictures } from '../peers/ffmpeg.ts';
import { sharpPicture } from '../peers/sharp-picture.ts';
import type { Clip } from './natural-clips.ts';

export interface Likeness {
  /** Mean structural similarity, the planes weighted by their samples. */
  readonly ssim: number;
  readonly bytesPerPicture: number;
}

export interface PeerLikeness extends Likeness {
  /** FFmpeg's qscale, or sharp's quality. */
  readonly setting: number;
}

/** From the worst to the best. */
const qscales = [4, 3, 2, 1];
const sharpQualities = [84, 87, 89, 90, 91, 92, 93, 94, 95];
/** What is less than this below ours is its equal: two builds of one encoder differ by as much. */
const ssimTolerance = 0.0005;
const weights = { Y: 4 / 6, U: 1 / 6, V: 1 / 6 } as const;

export interface Likenesses {
  readonly ours: Likeness;
  readonly ffmpeg: PeerLikeness;
  /** Null: it does not decode this. */
  readonly sharp: PeerLikeness | null;
}

export async function compareLikeness(
  directory: string,
  clip: Clip,
  expectation: Expectation,
): Promise<Likenesses> {
  const [reference = []] = await referencePlanes(directory, clip, [expectation]);
  const judge = async (jpegs: readonly Uint8Array[]): Promise<Likeness> => {
    const pictures = await decodeJpegs(jpegs, expectation.output);
    if (pictures.length !== reference.length)
      throw new Error(`${pictures.length} pictures of ${reference.length} frames`);
    const bytes = jpegs.reduce((sum, { length }) => sum + length, 0);
    return { ssim: meanSimilarity(pictures, reference), bytesPerPicture: bytes / pictures.length };
  };
  const [own = []] = await ourPictures(clip, [expectation]);
  const ours = await judge(own);
  const { format, path } = clip.file;
  const byFfmpeg = async (qscale: number): Promise<Likeness> =>
    judge([await ffmpegPictures({ format, path, expectation, qscale })]);
  const bySharp = async (quality: number): Promise<Likeness> =>
    judge(await Promise.all(clip.frames.map(({ payload }) => sharpPicture(payload, expectation, quality))));
  return {
    ours,
    ffmpeg: await equalOf(ours, qscales, byFfmpeg),
    sharp: format === 'mjpeg' ? await equalOf(ours, sharpQualities, bySharp) : null,
  };
}

/** The first setting that is not below ours, or the best there is. */
async function equalOf(
  ours: Likeness,
  settings: readonly number[],
  judge: (setting: number) => Promise<Likeness>,
): Promise<PeerLikeness> {
  let best: PeerLikeness | null = null;
  for (const setting of settings) {
    const likeness = await judge(setting);
    if (best === null || likeness.ssim > best.ssim) best = { ...likeness, setting };
    if (likeness.ssim >= ours.ssim - ssimTolerance) break;
  }
  if (best === null) throw new Error('a peer has settings to choose of');
  return best;
}

function meanSimilarity(pictures: readonly Planes[], reference: readonly Planes[]): number {
  const each = pictures.map((picture, index) => {
    const other = reference[index] ?? picture;
    return (['Y', 'U', 'V'] as const).reduce(
      (sum, name) => sum + weights[name] * planeSimilarity(picture[name], other[name]),
      0,
    );
  });
  return each.reduce((sum, similarity) => sum + similarity, 0) / each.length;
}
