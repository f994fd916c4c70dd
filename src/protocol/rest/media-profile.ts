/**
 * The media profile of a product: its allowed fields of POST /v1/token/msgvoip, its validation, and the completion of a body.
 * Given fields take precedence, one by one. Source: docs/registry.md, Defaults of a product.
 */
import { assert } from '../../lib/assert.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { JsonObject } from '../../model/json.ts';
import type { MediaProfile } from '../../model/product-defaults.ts';
import { callCredentialsSchema } from './call-credentials-schema.ts';
import { combineCallMedia, type FieldMistake } from './call-media.ts';
import { isBlank } from './shared-fields.ts';

/** In the order of the source's table. */
const profileFields = [
  'calling_timeout_sec',
  'up_video_mt',
  'down_video_mt',
  'down_video_rotation',
  'screen_width',
  'screen_height',
  'video_res_mode',
  'down_audio_mt',
  'audio_rate',
  'audio_channels',
] as const satisfies readonly (keyof MediaProfile)[];

/** Fields without effect in a call without video. */
const videoFields: ReadonlySet<string> = new Set([
  'up_video_mt',
  'down_video_mt',
  'down_video_rotation',
  'screen_width',
  'screen_height',
  'video_res_mode',
]);
const formatFields: ReadonlySet<string> = new Set(['up_video_mt', 'down_video_mt']);

/**
 * The profile, or its first mistake. Fields that it omits are assumed to fit: only a profile that no request can complete is a
 * mistake, or screen sides that no video call can have.
 */
export function parseMediaProfile(json: JsonObject): Result<MediaProfile, FieldMistake> {
  const profile: Record<string, unknown> = {};
  for (const field of Object.keys(json))
    if (!profileFields.some((known) => known === field))
      return fail({ field, rule: 'is not a field of a media profile' });
  for (const field of profileFields) {
    const value = Object.hasOwn(json, field) ? json[field] : null;
    if (isBlank(value)) continue;
    const checked = callCredentialsSchema.shape[field].safeParse(value);
    if (!checked.success) return fail({ field, rule: String(checked.error.issues[0]?.message) });
    profile[field] = value;
  }
  const contradiction = findContradiction(profile);
  return contradiction === null ? succeed(profile as MediaProfile) : fail(contradiction);
}

/** Valid required fields of an arbitrary call. */
const anyCall = {
  msg_session_key: 'x',
  msg_room_id: 'x',
  msg_session_token: 'x',
  msg_app_id: 'x',
  device_id: 'x',
  msg_model_id: 'x',
  audio_rate: 8000,
  audio_channels: 1,
  screen_width: 2,
  screen_height: 2,
};

function findContradiction(profile: MediaProfile): FieldMistake | null {
  const down_video_mt = (profile.video_res_mode ?? 'auto') === 'auto' ? 'h264' : 'mjpeg';
  const completed = { ...anyCall, down_video_mt, ...profile };
  return findMistake({ ...completed, up_video_mt: 'h264', down_video_mt }) ?? findMistake(completed);
}

function findMistake(body: JsonObject): FieldMistake | null {
  const fields = callCredentialsSchema.safeParse(body);
  assert(fields.success, 'each of its fields was right');
  const media = combineCallMedia(fields.data, 'allow');
  return media.ok ? null : media.error;
}

/** A body with its omitted fields filled in, and the names of those fields. */
export interface CompletedBody {
  readonly fields: JsonObject;
  readonly defaulted: ReadonlySet<string>;
}

/** `profile` null: none. A body without video receives no video fields, and one with `video_mt` receives neither format. */
export function completeBody(body: JsonObject, profile: MediaProfile | null): CompletedBody {
  const fields: Record<string, unknown> = { ...body };
  const defaulted = new Set<string>();
  for (const [field, value] of Object.entries(profile ?? {})) {
    if (!isBlank(body[field]) || isForbidden(body, field)) continue;
    fields[field] = value;
    defaulted.add(field);
  }
  return { fields, defaulted };
}

function isForbidden(body: JsonObject, field: string): boolean {
  if (formatFields.has(field) && !isBlank(body['video_mt'])) return true;
  return videoFields.has(field) && isAudioOnly(body);
}

function isAudioOnly(body: JsonObject): boolean {
  const { no_video: noVideo, video_mt: both, up_video_mt: up, down_video_mt: down } = body;
  return noVideo === true || both === 'none' || (up === 'none' && down === 'none');
}

export function mistakeSentence(
  { field, rule, because }: FieldMistake,
  defaulted: ReadonlySet<string>,
): string {
  if (defaulted.has(field)) return `${field}, a default of the device's product, ${rule}`;
  const cause = because !== undefined && defaulted.has(because);
  return `${field} ${rule}${cause ? ` (${because} is a default of the device's product)` : ''}`;
}
