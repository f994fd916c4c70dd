/** Sizes of pictures as people type them, and which of several is due. */
import { InvalidArgumentError } from 'commander';
import { assert } from '../../lib/assert.ts';
import type { Size } from '../../model/call.ts';
import { sourceSideMax } from '../../model/limits.ts';

const sideMin = 16;

/** `320x240,240x320`: at least one. Sides are even, as 4:2:0 wants them. Throws InvalidArgumentError. */
export function parseSizes(text: string): readonly Size[] {
  return text.split(',').map(parseSize);
}

function parseSize(text: string): Size {
  const [, width, height] = /^(\d{1,5})[x×](\d{1,5})$/.exec(text) ?? [];
  const size = { width: Number(width), height: Number(height) };
  const isGood = (side: number): boolean => side >= sideMin && side <= sourceSideMax && side % 2 === 0;
  if (isGood(size.width) && isGood(size.height)) return size;
  throw new InvalidArgumentError(
    `Expected sizes like 320x240 or 320x240,240x320 with even sides from ${sideMin} to ${sourceSideMax}.`,
  );
}

/** One after the other, each for `everyMs`, and again from the first; null: the first for good. `sizes`: at least one. */
export function sizeAt(sizes: readonly Size[], everyMs: number | null, atMs: number): Size {
  const turn = everyMs === null ? 0 : Math.floor(atMs / everyMs) % sizes.length;
  const size = sizes[turn];
  assert(size !== undefined, 'there is a size to choose');
  return size;
}

export function sizeInWords({ width, height }: Size): string {
  return `${width}×${height}`;
}
