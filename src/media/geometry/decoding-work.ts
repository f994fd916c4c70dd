/** Estimates the cost of decoding an access unit of H.264 or H.265, before it is decoded. */
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

export function blocksOf({ width, height }: Size): number {
  return Math.ceil(width / blockSide) * Math.ceil(height / blockSide);
}

/** `incomplete`: a part of the access unit, or an earlier frame, is missing; `too_costly`: it exceeds a limit. */
export type FrameCheck = 'whole' | 'incomplete' | 'too_costly';

export class DecodingWork {
  #parts = 0;
  #parameterSets = 0;
  #slices = 0;
  #blocksBefore = 0;

  /** `blocksBefore`: blocks before the first one of the slice; 0: unknown. */
  add(kind: NalKind, blocksBefore = 0): void {
    this.#parts += 1;
    if (kind === 'sequence' || kind === 'parameters') this.#parameterSets += 1;
    if (kind !== 'slice' && kind !== 'key_slice') return;
    this.#slices += 1;
    this.#blocksBefore += blocksBefore;
  }

  /** Checked after each unit, so that no more units are read than allowed. */
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
