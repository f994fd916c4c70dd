/**
 * Rules across the media fields of a request for call credentials. What one field may be by itself is in
 * call-credentials-schema.ts. Source: calls-and-media.md, Credential issuance; API doc, Endpoint 4, Restrictions.
 */
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { CallMedia, DownlinkVideoFormat, UplinkVideoFormat } from '../../model/call.ts';
import { screenSideMax } from '../../model/limits.ts';
import type { CallCredentialsFields } from './call-credentials-schema.ts';

/** The media, or the first mistake in the order of the source's table, in words for the caller. */
export function combineCallMedia(fields: CallCredentialsFields): Result<CallMedia, string> {
  const formats = combineFormats(fields);
  if (!formats.ok) return formats;
  const { upVideo, downVideo } = formats.value;
  const mistake = findScreenMistake(fields) ?? findModeMistake(fields, downVideo);
  if (mistake !== null) return fail(mistake);
  return succeed({
    noVideo: fields.no_video,
    upVideo,
    downVideo,
    // JSON has a zero with a minus; it is no other rotation.
    rotation: fields.down_video_rotation || 0,
    screen: screenOf(fields),
    resolution: fields.video_res_mode,
    downAudio: fields.down_audio_mt,
    audioRate: fields.audio_rate,
    audioChannels: fields.audio_channels,
  });
}

interface VideoFormats {
  readonly upVideo: UplinkVideoFormat;
  readonly downVideo: DownlinkVideoFormat;
}

const audioOnly: VideoFormats = { upVideo: 'none', downVideo: 'none' };

/** Formats that contradict one another are a mistake also where `no_video` then makes nothing of them. */
function combineFormats({
  no_video: noVideo,
  video_mt: both,
  up_video_mt: up,
  down_video_mt: down,
}: CallCredentialsFields): Result<VideoFormats, string> {
  if (both !== undefined && ((up ?? both) !== both || (down ?? both) !== both))
    return fail('video_mt must agree with the up_video_mt and down_video_mt that are given with it');
  if (noVideo) return succeed(audioOnly);
  return succeed({ upVideo: up ?? both ?? 'h264', downVideo: down ?? both ?? 'h264' });
}

const sides = ['screen_width', 'screen_height'] as const;

/** With `no_video` no side is asked for, but one that is given is looked at like any other. */
function findScreenMistake(fields: CallCredentialsFields): string | null {
  const { no_video: noVideo, video_res_mode: mode } = fields;
  for (const name of sides) {
    const side = fields[name];
    if (side === undefined) {
      if (!noVideo) return `${name} is missing; only with no_video may it be`;
    } else if (mode !== 'auto' && side < 2)
      return `${name} must be an integer from 2 to ${screenSideMax} with ${mode}`;
    else if (mode === 'fill_screen' && side % 2 !== 0) return `${name} must be even with fill_screen`;
  }
  return null;
}

/** So neither mode goes with `no_video`: there is no MJPEG to the device. */
function findModeMistake(
  { video_res_mode: mode }: CallCredentialsFields,
  down: DownlinkVideoFormat,
): string | null {
  return mode === 'auto' || down === 'mjpeg'
    ? null
    : `video_res_mode must be auto unless the video format to the device is mjpeg`;
}

/** One side alone is no screen; only `no_video` lets it come so far. */
function screenOf({
  screen_width: width,
  screen_height: height,
}: CallCredentialsFields): CallMedia['screen'] {
  return width === undefined || height === undefined ? null : { width, height };
}
