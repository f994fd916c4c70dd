/**
 * Rules across the media fields of POST /v1/token/msgvoip, and the resulting media. A mistake names the field and its rule, and
 * the other field that causes the rule, if any. Source: API doc, Endpoint 4; calls-and-media.md, Credential issuance.
 */
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { CallMedia, DownlinkVideoFormat, UplinkVideoFormat } from '../../model/call.ts';
import { screenSideMax } from '../../model/limits.ts';
import type { CallCredentialsFields } from './call-credentials-schema.ts';

/** Setting `calls.mixed_formats`: allows or refuses different formats in the two directions. */
export type MixedFormats = 'allow' | 'refuse';

/** In words for the caller: `field`, a space, `rule`. */
export interface FieldMistake {
  readonly field: string;
  readonly rule: string;
  readonly because?: keyof CallCredentialsFields;
}

/** The media, or the first mistake in the order of the source's table. */
export function combineCallMedia(
  fields: CallCredentialsFields,
  mixed: MixedFormats,
): Result<CallMedia, FieldMistake> {
  const formats = combineFormats(fields, mixed);
  if (!formats.ok) return formats;
  const { upVideo, downVideo } = formats.value;
  const noVideo = upVideo === 'none' && downVideo === 'none';
  const mistake = (noVideo ? null : findScreenMistake(fields)) ?? findModeMistake(fields, downVideo);
  if (mistake !== null) return fail(mistake);
  return succeed({
    noVideo,
    upVideo,
    downVideo,
    // JSON allows -0, which is the same rotation.
    rotation: fields.down_video_rotation || 0,
    screen: noVideo ? null : screenOf(fields),
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

/** Contradictory formats are a mistake even if `no_video` overrides them. */
function combineFormats(
  { no_video: noVideo, video_mt: both, up_video_mt: up, down_video_mt: down }: CallCredentialsFields,
  mixed: MixedFormats,
): Result<VideoFormats, FieldMistake> {
  if (both !== undefined && ((up ?? both) !== both || (down ?? both) !== both))
    return fail({
      field: 'video_mt',
      rule: 'must equal the up_video_mt and down_video_mt that are given with it',
    });
  if (mixed === 'refuse' && up !== undefined && down !== undefined && up !== down)
    return fail({
      field: 'up_video_mt',
      rule: 'and down_video_mt must be the same: this server is set to refuse different formats',
      because: 'down_video_mt',
    });
  if (noVideo) return succeed(audioOnly);
  return succeed({ upVideo: up ?? both ?? 'h264', downVideo: down ?? both ?? 'h264' });
}

const sides = [
  ['screen_width', 'screen_height'],
  ['screen_height', 'screen_width'],
] as const;

function findScreenMistake(fields: CallCredentialsFields): FieldMistake | null {
  for (const [field, other] of sides) {
    const mistake = findSideMistake(fields, field, other);
    if (mistake !== null) return mistake;
  }
  return null;
}

type Side = 'screen_width' | 'screen_height';

function findSideMistake(fields: CallCredentialsFields, field: Side, other: Side): FieldMistake | null {
  const { video_res_mode: mode, [field]: side } = fields;
  const because = 'video_res_mode';
  const min = mode === 'auto' ? 1 : 2;
  if (side === undefined) {
    if (mode !== 'auto') return { field, rule: `is missing: ${mode} needs the screen`, because };
    if (fields[other] === undefined) return null;
    return { field, rule: `is missing: it is required together with ${other}`, because: other };
  }
  if (!Number.isInteger(side) || side < min || side > screenSideMax) {
    const rule = `must be an integer from ${min} to ${screenSideMax}`;
    return mode === 'auto' ? { field, rule } : { field, rule: `${rule} with ${mode}`, because };
  }
  if (mode !== 'fill_screen' || side % 2 === 0) return null;
  return { field, rule: 'must be even with fill_screen', because };
}

/** An audio-only call allows neither mode: no MJPEG goes to the device. */
function findModeMistake(
  { video_res_mode: mode }: CallCredentialsFields,
  down: DownlinkVideoFormat,
): FieldMistake | null {
  if (mode === 'auto' || down === 'mjpeg') return null;
  return {
    field: 'video_res_mode',
    rule: 'must be auto unless the video format to the device is mjpeg',
    because: 'down_video_mt',
  };
}

function screenOf({
  screen_width: width,
  screen_height: height,
}: CallCredentialsFields): CallMedia['screen'] {
  return width === undefined || height === undefined ? null : { width, height };
}
