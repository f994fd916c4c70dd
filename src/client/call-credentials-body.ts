/** The body that a backend sends for call credentials, named as on the wire. Source: API doc, Endpoint 4, Body. */
import type {
  AudioChannels,
  AudioRate,
  DownlinkAudioFormat,
  DownlinkVideoFormat,
  ResolutionMode,
  UplinkVideoFormat,
  VideoRotation,
} from '../model/call.ts';

export interface CallCredentialsBody {
  readonly msg_session_key: string;
  readonly msg_room_id: string;
  readonly msg_session_token: string;
  readonly msg_app_id: string;
  readonly device_id: string;
  readonly msg_model_id: string;
  readonly msg_payload?: string | undefined;
  /** 1-600; 30 when left out. */
  readonly calling_timeout_sec?: number | undefined;
  /** True: audio-only. */
  readonly no_video?: boolean | undefined;
  /** Of both directions; not together with the two below. */
  readonly video_mt?: DownlinkVideoFormat | undefined;
  readonly up_video_mt?: UplinkVideoFormat | undefined;
  readonly down_video_mt?: DownlinkVideoFormat | undefined;
  readonly down_video_rotation?: VideoRotation | undefined;
  /** Pixels; both sides are required unless audio-only. */
  readonly screen_width?: number | undefined;
  readonly screen_height?: number | undefined;
  readonly video_res_mode?: ResolutionMode | undefined;
  readonly down_audio_mt?: DownlinkAudioFormat | undefined;
  readonly audio_rate: AudioRate;
  readonly audio_channels: AudioChannels;
}
