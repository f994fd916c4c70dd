/** What the processes that make pictures of a clip can be asked: ours, and sharp's. */
import type { Expectation } from '../../test/pictures/reference.ts';
import type { ClipFile } from './natural-clips.ts';

export const pictureService = 'pictures';

export interface PictureReading {
  readonly frames: number;
  /** Those of which no picture came, or none of the right size. */
  readonly wrong: number;
  /** Of all pictures. */
  readonly bytes: number;
  /** All threads of the process, user and system. */
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
}

interface PicturesAsked {
  readonly expectation: Expectation;
  /** The clip so often. */
  readonly passes: number;
}

export type PeerProtocol = {
  /** Gives the number of its frames. */
  load: { take: ClipFile; give: number };
  /** Through one worker, by so many sessions at once, each the clip from its beginning. */
  pool: { take: PicturesAsked & { readonly sessions: number }; give: PictureReading };
  /** One after the other on the one thread there is, by what the worker does it with. */
  steps: { take: PicturesAsked; give: PictureReading };
};

export type SharpProtocol = {
  load: { take: ClipFile; give: number };
  resize: { take: PicturesAsked & { readonly quality: number }; give: PictureReading };
};
