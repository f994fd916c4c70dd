/** Whether a source is too large to be decoded. Source: calls-and-media.md, Resolution. */
import type { Size } from '../../model/call.ts';

/** Either way up: long side against long side, short side against short side. */
export function exceeds(size: Size, max: Size): boolean {
  return (
    Math.max(size.width, size.height) > Math.max(max.width, max.height) ||
    Math.min(size.width, size.height) > Math.min(max.width, max.height)
  );
}
