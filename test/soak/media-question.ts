/** What the soak asks its media process, over the channel of a child process. */
import type { NativeCensus } from '../../src/media/codec/native-census.ts';

export interface MediaSample {
  /** Of each worker; null: it is gone. */
  readonly natives: readonly (NativeCensus | null)[];
}

export const mediaQuestion = 'sample';

/** Set for the canary: its workers lose frames. */
export const leakVariable = 'SOAK_LEAKS';
