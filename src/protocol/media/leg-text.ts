/** The text messages of the server to a leg: JSON, its fields in the documented order. Source: calls-and-media.md, Legs. */
import type { CallMedia, CallRoom, LegMessage, VideoRequest } from '../../model/call.ts';

export function encodeLegMessage(message: LegMessage): string {
  switch (message.kind) {
    case 'assign':
      return JSON.stringify({ type: 'assign', session: message.sessionId });
    case 'start':
      return encodeStart(message.room, message.request, message.media);
    case 'state':
      return JSON.stringify({
        type: 'state',
        session: message.sessionId,
        state: message.state,
        reason: message.reason,
      });
  }
}

/** `message`: what is wrong with what the leg said, and what is expected. */
export function encodeLegError(message: string): string {
  return JSON.stringify({ type: 'error', message });
}

/** To the sender of video: what it sent cannot be continued. */
export function encodeKeyFrameWanted(): string {
  return '{"type":"key_frame_wanted"}';
}

function encodeStart(room: CallRoom, request: VideoRequest | null, media: CallMedia): string {
  return JSON.stringify({
    type: 'start',
    request: request === null ? null : encodeRequest(request),
    audio: { format: media.downAudio, rate: media.audioRate, channels: media.audioChannels },
    payload: room.payload,
    room: {
      app_id: room.msgAppId,
      model_id: room.modelId,
      room_id: room.roomId,
      session_key: room.sessionKey,
      session_token: room.sessionToken,
    },
  });
}

function encodeRequest({ width, height, rotation, maxFps }: VideoRequest): object {
  return { width, height, rotation, max_fps: maxFps };
}
