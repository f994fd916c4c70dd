/** Counts what an access unit of H.264 or H.265 may cost its decoder, before it is decoded. */
import {
  accessUnitPartsMax,
  parameterSetsMax,
  sliceAreaBlocksMin,
  sliceAreasMax,
  sliceBlocksPerByte,
} from '../../model/media/decoding-limits.ts';
import type { Size } from '../../model/call.ts';
import type { NalKind } from './nal-units.ts';

const blockSide = 16;

/** Blocks of 16 x 16. */
export function blocksOf({ width, height }: Size): number {
  return Math.ceil(width / blockSide) * Math.ceil(height / blockSide);
}

/** Fault of an access unit. `incomplete`: it lacks a part, or a frame before it is missing; `too_costly`: it is beyond a limit. */
export type FrameCheck = 'whole' | 'incomplete' | 'too_costly';

export class DecodingWork {
  #parts = 0;
  #parameterSets = 0;
  #slices = 0;
  #blocksBefore = 0;

  /** `blocksBefore`: blocks that a slice leaves out before its first one; 0 where that is unknown. */
  add(kind: NalKind, blocksBefore = 0): void {
    this.#parts += 1;
    if (kind === 'sequence' || kind === 'parameters') this.#parameterSets += 1;
    if (kind !== 'slice' && kind !== 'key_slice') return;
    this.#slices += 1;
    this.#blocksBefore += blocksBefore;
  }

  /** Checked after each unit, so that no more units are read than may be. */
  get hasTooManyParts(): boolean {
    return this.#parts > accessUnitPartsMax || this.#parameterSets > parameterSetsMax;
  }

  /** `blocks`: of the largest picture that a parameter set describes. `bytes`: of the access unit. */
  exceeds(blocks: number, bytes: number): boolean {
    const cost = this.#slices * blocks - this.#blocksBefore;
    const area = Math.max(blocks, sliceAreaBlocksMin);
    return cost > sliceAreasMax * area + sliceBlocksPerByte * bytes;
  }
}
