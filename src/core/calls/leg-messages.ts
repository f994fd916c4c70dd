/**
 * The messages with which a leg learns of its call: the start, with the picture that the bridge is to ask the phone for,
 * and the state that the call is in already. Source: calls-and-media.md, Legs and Resolution.
 */
import type { Size, CallMedia, CallSession, LegMessage, VideoRequest } from '../../model/call.ts';

const smallScreenAreaMax = 480 * 240;

const sizes = {
  small: { landscape: { width: 320, height: 240 }, portrait: { width: 240, height: 320 } },
  large: { landscape: { width: 640, height: 480 }, portrait: { width: 480, height: 640 } },
} as const;

/**
 * The picture that a bridge asks the phone for, by the device's screen; the scaled modes start from the same one.
 * `screen`: whole pixels, at least 1 a side; a square one is asked for landscape; null: none was told, which asks for the
 * small one, landscape. Source: API doc, Endpoint 4, Downlink
 * video resolution modes.
 */
export function requestedSize(screen: Size | null): Size {
  if (screen === null) return sizes.small.landscape;
  const { width, height } = screen;
  const { landscape, portrait } = width * height <= smallScreenAreaMax ? sizes.small : sizes.large;
  return height > width ? portrait : landscape;
}

/** To the bridge that has the call; the room's secrets are in it. `maxFps`: frames per second, by the settings. */
export function startMessage({ sessionId, room, media }: CallSession, maxFps: number): LegMessage {
  return { kind: 'start', sessionId, room, request: videoRequest(media, maxFps), media };
}

/** The scaled modes work on what `auto` asks for. Null: no picture goes to the device. */
function videoRequest({ downVideo, screen, rotation }: CallMedia, maxFps: number): VideoRequest | null {
  if (downVideo === 'none') return null;
  const { width, height } = requestedSize(screen);
  return { width, height, rotation, maxFps };
}

/**
 * To a leg that comes to a call which has moved on without it: a bridge given a call whose device has accepted, a leg
 * that comes back. Null: the call is only being established, which a leg knows by being there.
 */
export function presentState({ sessionId, state }: CallSession): LegMessage | null {
  if (state === 'issued' || state === 'establishing') return null;
  return { kind: 'state', sessionId, state, reason: null };
}
