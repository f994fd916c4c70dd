/** What the bridge that has a call is told of it. Source: calls-and-media.md, Legs and Resolution. */
import type { CallMedia, CallSession, LegMessage, VideoRequest } from '../../model/call.ts';
import { requestedSize } from '../calls/auto-resolution.ts';

/** `maxFps`: frames per second, of the setting. The room's secrets are in it. */
export function startMessage({ sessionId, room, media }: CallSession, maxFps: number): LegMessage {
  return { kind: 'start', sessionId, room, request: videoRequest(media, maxFps), media };
}

/** The scaled modes work on what `auto` asks for. Null: no picture goes to the device. */
function videoRequest({ downVideo, screen, rotation }: CallMedia, maxFps: number): VideoRequest | null {
  if (downVideo === 'none' || screen === null) return null;
  const { width, height } = requestedSize(screen);
  return { width, height, rotation, maxFps };
}
