/** What the soak asks its media process, over the channel of a child process. */
import type { NativeCensus } from '../../src/media/codec/native-census.ts';

export interface MediaSample {
  /** Of each worker; null: it is gone. */
  readonly natives: readonly (NativeCensus | null)[];
  /** WebRTC connections that are made and not closed. */
  readonly peers: number;
  readonly timers: number;
}

export const mediaQuestion = 'sample';

/** Set for the canary: its workers lose frames, and the process loses all else that is counted. */
export const leakVariable = 'SOAK_LEAKS';
