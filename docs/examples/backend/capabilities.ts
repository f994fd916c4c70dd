/**
 * What devices can show and play: each reports it when it signs in, in `media` of its `device.signal.online` event.
 * A backend of your own keeps it in its database, beside the cursor of the events it has read.
 */
import type { CallCredentialsBody } from 'reveille/client';

type RoomField =
  | 'msg_session_key'
  | 'msg_room_id'
  | 'msg_session_token'
  | 'msg_app_id'
  | 'msg_model_id'
  | 'msg_payload'
  | 'device_id'
  | 'calling_timeout_sec';

/** The part of a credential request that is the device's to say. */
export type Media = Omit<CallCredentialsBody, RoomField>;

const types: Readonly<Record<keyof Media, 'boolean' | 'number' | 'string'>> = {
  no_video: 'boolean',
  video_mt: 'string',
  up_video_mt: 'string',
  down_video_mt: 'string',
  down_video_rotation: 'number',
  screen_width: 'number',
  screen_height: 'number',
  video_res_mode: 'string',
  down_audio_mt: 'string',
  audio_rate: 'number',
  audio_channels: 'number',
};

type Report = Readonly<Record<string, unknown>>;

/**
 * What of a report is about media. The rest is left out: a device chooses neither its room nor its time. Whether the
 * values are right is for the API to say, which names the field.
 */
export function reportedMedia(report: Report): Partial<Media> {
  const isMedia = ([name, value]: [string, unknown]): boolean => typeof value === types[name as keyof Media];
  return Object.fromEntries(Object.entries(report).filter(isMedia));
}

/** Devices remembered; beyond it the one that signed in longest ago is forgotten, and has the default until it does again. */
const devicesMax = 10_000;

export class Capabilities {
  readonly #otherwise: Media;
  /** In the order of their reports. */
  readonly #reported = new Map<string, Partial<Media>>();

  /** `otherwise`: of devices that have reported none. */
  constructor(otherwise: Media) {
    this.#otherwise = otherwise;
  }

  /** The device has signed in. `report`: its `media`, where it said any. */
  note(deviceId: string, report: Report | undefined): void {
    this.#reported.delete(deviceId);
    if (report !== undefined) this.#reported.set(deviceId, reportedMedia(report));
    const [oldest] = this.#reported.keys();
    if (this.#reported.size > devicesMax && oldest !== undefined) this.#reported.delete(oldest);
  }

  /** What a report leaves open of the sound, which a request must have, is as in the default. */
  of(deviceId: string): Media {
    const { audio_rate, audio_channels } = this.#otherwise;
    const reported = this.#reported.get(deviceId);
    return reported === undefined ? this.#otherwise : { audio_rate, audio_channels, ...reported };
  }
}
