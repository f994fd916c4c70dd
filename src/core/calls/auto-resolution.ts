/**
 * How large a picture a bridge asks the phone for, by the device's screen. The scaled modes start from the same one.
 * Source: calls-and-media.md, Resolution; API doc, Endpoint 4, Downlink video resolution modes.
 */
import type { Size } from '../../model/call.ts';

const smallScreenAreaMax = 480 * 240;

const sizes = {
  small: { landscape: { width: 320, height: 240 }, portrait: { width: 240, height: 320 } },
  large: { landscape: { width: 640, height: 480 }, portrait: { width: 480, height: 640 } },
} as const;

/** `screen`: whole pixels, at least 1 a side. A square one is asked for landscape. */
export function requestedSize({ width, height }: Size): Size {
  const { landscape, portrait } = width * height <= smallScreenAreaMax ? sizes.small : sizes.large;
  return height > width ? portrait : landscape;
}
