/** A live call session as operators are told of it: nothing by which anybody could get into it. */
import type { CallMedia, CallSession } from '../../model/call.ts';
import { formatTimestamp } from '../../protocol/rest/shared-fields.ts';

/** Who is connected now. */
export interface CallLegs {
  readonly device: boolean;
  readonly bridge: boolean;
}

export interface CallJson {
  readonly session: string;
  readonly app_id: string;
  readonly device_id: string;
  readonly room_id: string;
  readonly state: string;
  readonly created_at: string;
  readonly expires_at: string;
  readonly legs: CallLegs;
  readonly media: CallMediaJson;
}

/** The fields of the request by which it was issued, after defaults. */
export interface CallMediaJson {
  readonly no_video: boolean;
  readonly up_video_mt: string;
  readonly down_video_mt: string;
  readonly down_video_rotation: number;
  readonly screen_width: number | null;
  readonly screen_height: number | null;
  readonly video_res_mode: string;
  readonly down_audio_mt: string;
  readonly audio_rate: number;
  readonly audio_channels: number;
}

export function encodeCall(session: CallSession, legs: CallLegs): CallJson {
  return {
    session: session.sessionId,
    app_id: session.appId,
    device_id: session.deviceId,
    room_id: session.room.roomId,
    state: session.state,
    created_at: formatTimestamp(session.createdAtMs),
    expires_at: formatTimestamp(session.expiresAtMs),
    legs,
    media: encodeMedia(session.media),
  };
}

function encodeMedia(media: CallMedia): CallMediaJson {
  return {
    no_video: media.noVideo,
    up_video_mt: media.upVideo,
    down_video_mt: media.downVideo,
    down_video_rotation: media.rotation,
    screen_width: media.screen?.width ?? null,
    screen_height: media.screen?.height ?? null,
    video_res_mode: media.resolution,
    down_audio_mt: media.downAudio,
    audio_rate: media.audioRate,
    audio_channels: media.audioChannels,
  };
}
