/**
 * Defaults of a product, for all its devices: advice to their low-power modules, and the media of their calls. Names are those
 * of the registry file, in which they are stored. The server's setting, or the request, decides an omitted one. Source:
 * docs/registry.md, Defaults of a product.
 */
import type {
  AudioChannels,
  AudioRate,
  DownlinkAudioFormat,
  DownlinkVideoFormat,
  ResolutionMode,
  UplinkVideoFormat,
  VideoRotation,
} from './call.ts';

export interface ProductDefaults {
  readonly heartbeat_s?: number;
  readonly sleep?: ProductSleepAdvice;
  readonly media?: MediaProfile;
}

export interface ProductSleepAdvice {
  /** `host:port`, in the order to try, instead of the server's own. */
  readonly servers?: readonly string[];
  readonly retry?: SleepRetry;
}

export interface SleepRetry {
  readonly min_s: number;
  readonly max_s: number;
  /** Random part of a wait, 0 to 1. */
  readonly jitter: number;
}

/** Fields of the body of POST /v1/token/msgvoip, for requests that omit them. */
export interface MediaProfile {
  readonly calling_timeout_sec?: number;
  readonly up_video_mt?: UplinkVideoFormat;
  readonly down_video_mt?: DownlinkVideoFormat;
  readonly down_video_rotation?: VideoRotation;
  readonly screen_width?: number;
  readonly screen_height?: number;
  readonly video_res_mode?: ResolutionMode;
  readonly down_audio_mt?: DownlinkAudioFormat;
  readonly audio_rate?: AudioRate;
  readonly audio_channels?: AudioChannels;
}
