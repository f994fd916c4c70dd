/** What a simulated phone shows: a film of a file, or a test picture that moves. */
import type { Size } from '../../model/call.ts';
import { drawTestPicture } from './test-picture.ts';

export interface Film {
  /** Null: it has no rate of its own. */
  readonly framesPerSecond: number | null;
  /** The picture that is due at this moment, milliseconds, as I420. Moments do not go back; after its end it begins anew. */
  pictureAt(atMs: number, size: Size): Uint8Array<ArrayBuffer>;
  close(): void;
}

/** Each picture shows its number. */
export function testFilm(): Film {
  let number = 0;
  return {
    framesPerSecond: null,
    pictureAt: (_atMs, size) => drawTestPicture(size, number++),
    close: () => undefined,
  };
}
