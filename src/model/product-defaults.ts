/**
 * The defaults of a product: what its devices have in common, so that nobody has to say it for each of them: advice to their low-power
 * modules, and the media of their calls. Named as in a registry file, in which and by which it is kept; what is left out is
 * left to the server and to who asks. Source: docs/registry.md, Defaults of a product.
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
  /** Seconds between the heartbeats of a sleeping module. */
  readonly heartbeat_s?: number;
  readonly sleep?: ProductSleepAdvice;
  readonly media?: MediaProfile;
}

export interface ProductSleepAdvice {
  /** `host:port`, in the order to try, in place of the server's own. */
  readonly servers?: readonly string[];
  readonly retry?: SleepRetry;
}

export interface SleepRetry {
  /** Seconds. */
  readonly min_s: number;
  readonly max_s: number;
  /** 0 to 1: the part of a wait that is random. */
  readonly jitter: number;
}

/** Fields of the body of POST /v1/token/msgvoip, for requests that leave them out. */
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
