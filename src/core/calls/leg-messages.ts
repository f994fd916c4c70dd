/**
 * The first messages to a leg: the start, with the picture to request from the phone, and the current state of the call. Source:
 * calls-and-media.md, Legs and Resolution.
 */
import type { Size, CallMedia, CallSession, LegMessage, VideoRequest } from '../../model/call.ts';

const smallScreenAreaMax = 480 * 240;

const sizes = {
  small: { landscape: { width: 320, height: 240 }, portrait: { width: 240, height: 320 } },
  large: { landscape: { width: 640, height: 480 }, portrait: { width: 480, height: 640 } },
} as const;

/**
 * The picture size that a bridge requests from the phone, by the device's screen; the scaled modes start from the same size.
 * `screen`: whole pixels, at least 1 per side; square counts as landscape; null: unknown, small landscape. Source: API doc,
 * Endpoint 4, Downlink video resolution modes.
 */
export function requestedSize(screen: Size | null): Size {
  if (screen === null) return sizes.small.landscape;
  const { width, height } = screen;
  const { landscape, portrait } = width * height <= smallScreenAreaMax ? sizes.small : sizes.large;
  return height > width ? portrait : landscape;
}

/** For the bridge of the call; contains the room's secrets. `maxFps`: frames per second, from the settings. */
export function startMessage({ sessionId, room, media }: CallSession, maxFps: number): LegMessage {
  return { kind: 'start', sessionId, room, request: videoRequest(media, maxFps), media };
}

/** Scaled modes use the size of `auto`. Null: no video to the device. */
function videoRequest({ downVideo, screen, rotation }: CallMedia, maxFps: number): VideoRequest | null {
  if (downVideo === 'none') return null;
  const { width, height } = requestedSize(screen);
  return { width, height, rotation, maxFps };
}

/**
 * The state for a leg that connects to a call in progress: a bridge assigned after the device accepted, or a leg that reconnects.
 * Null: the call is only being established, which a connected leg implies.
 */
export function presentState({ sessionId, state }: CallSession): LegMessage | null {
  if (state === 'issued' || state === 'establishing') return null;
  return { kind: 'state', sessionId, state, reason: null };
}
