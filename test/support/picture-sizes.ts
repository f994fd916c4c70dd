/** Parses sizes as people write them. */
import assert from 'node:assert/strict';
import type { Size } from '../../src/model/call.ts';

export function sizeOf(text: string): Size {
  const [, width, height] = /^(\d+)x(\d+)$/.exec(text) ?? [];
  assert.ok(width !== undefined && height !== undefined, `${text} is no size`);
  return { width: Number(width), height: Number(height) };
}
