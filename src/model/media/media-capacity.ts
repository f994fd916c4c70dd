/** Capacity of the media processes: the load of their workers, and their remaining room. */

import { soundEncodings, type SoundEncoding } from './sound.ts';

export interface WorkerLoad {
  /** Measured share of its time over the last seconds, 0 to 1. */
  readonly busy: number;
  /** Share reserved for its calls, including those that have not sent a frame yet. */
  readonly taken: number;
  /** Further calls that fit, at the average cost of the present ones, or at the usual cost if there are none. */
  readonly room: number;
}

/** A media process as its server knows it, at most a second old. */
export interface MediaCapacity {
  /** Index among the server's media processes, from 0. */
  readonly process: number;
  /** Listen address: `host:port`. */
  readonly address: string;
  /** Legs, idle bridges and viewers. */
  readonly legs: number;
  /** Calls with a leg. */
  readonly sessions: number;
  readonly workers: readonly WorkerLoad[];
  /** Version of the decoder library; null: not installed on its machine. */
  readonly engine: string | null;
  readonly soundEncoders: readonly SoundEncoding[];
}

export function roomOf({ workers }: Pick<MediaCapacity, 'workers'>): number {
  return workers.reduce((sum, { room }) => sum + room, 0);
}

/** Unreserved time, as shares of one worker summed over all workers. */
export function freeTimeOf({ workers }: Pick<MediaCapacity, 'workers'>): number {
  return workers.reduce((sum, { taken }) => sum + Math.max(0, 1 - taken), 0);
}

/** Sound formats that every media process can encode; null: no process is known. */
export function soundEncodersOf(
  processes: readonly Pick<MediaCapacity, 'soundEncoders'>[],
): readonly SoundEncoding[] | null {
  if (processes.length === 0) return null;
  return soundEncodings.filter((format) => processes.every((media) => media.soundEncoders.includes(format)));
}
