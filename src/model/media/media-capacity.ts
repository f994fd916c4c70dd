/** The capacity of the media processes: what their workers do, and for how much more they have room. */

import { soundEncodings, type SoundEncoding } from './sound.ts';

/** A worker that decodes, scales and encodes. */
export interface WorkerLoad {
  /** Measured share of its time over the last seconds, 0 to 1. */
  readonly busy: number;
  /** The share that its calls are counted with, those included that have not sent a frame yet. */
  readonly taken: number;
  /** Calls like those that are carried now, or like the usual one where there is none. */
  readonly room: number;
}

/** A media process as its server knows it, as of a second ago. */
export interface MediaCapacity {
  /** Its number among those of the server, from 0. */
  readonly process: number;
  /** Where it listens: `host:port`. */
  readonly address: string;
  /** Legs, idle bridges and viewers. */
  readonly legs: number;
  /** Calls with a leg. */
  readonly sessions: number;
  readonly workers: readonly WorkerLoad[];
  /** The version of the decoders' library; null: its machine has none. */
  readonly engine: string | null;
  /** What it can make sound as. */
  readonly soundEncoders: readonly SoundEncoding[];
}

/** Calls that it has room for. */
export function roomOf({ workers }: Pick<MediaCapacity, 'workers'>): number {
  return workers.reduce((sum, { room }) => sum + room, 0);
}

/** The share of a worker's time that no call is counted with, summed over its workers. */
export function freeTimeOf({ workers }: Pick<MediaCapacity, 'workers'>): number {
  return workers.reduce((sum, { taken }) => sum + Math.max(0, 1 - taken), 0);
}

/** What sound can be made as whichever of them a call comes to; null: none is known. */
export function soundEncodersOf(
  processes: readonly Pick<MediaCapacity, 'soundEncoders'>[],
): readonly SoundEncoding[] | null {
  if (processes.length === 0) return null;
  return soundEncodings.filter((format) => processes.every((media) => media.soundEncoders.includes(format)));
}
