/** Sizes as people write them. */
import assert from 'node:assert/strict';
import type { Size } from '../../src/model/call.ts';

/** Of `640x480`. */
export function sizeOf(text: string): Size {
  const [, width, height] = /^(\d+)x(\d+)$/.exec(text) ?? [];
  assert.ok(width !== undefined && height !== undefined, `${text} is no size`);
  return { width: Number(width), height: Number(height) };
}
