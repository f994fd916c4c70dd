/**
 * The body of POST /v1/token/msgvoip, field by field in the order of the source's table: what it is decoded by, and
 * what the component CallCredentialsRequest of docs/openapi.yaml is made from (test/support/openapi-schemas.ts). What
 * fields ask of one another is in call-media.ts, what a product fills in in media-profile.ts. Source: API doc, Endpoint 4; calls-and-media.md, Credential issuance.
 */
import { z } from 'zod';
import {
  audioChannelCounts,
  audioRates,
  downlinkAudioFormats,
  downlinkVideoFormats,
  resolutionModes,
  uplinkVideoFormats,
  videoRotations,
} from '../../model/call.ts';
import { parseDeviceId } from '../../model/ids.ts';
import {
  callingTimeoutSecondsDefault,
  callingTimeoutSecondsMax,
  callPayloadBytesMax,
  callTextBytesMax,
  deviceIdBytesMax,
  msgIdCharactersMax,
  roomIdBytesMax,
  screenSideMax,
} from '../../model/limits.ts';
import { utf8Length } from '../../lib/utf8.ts';
import { isBlank, type Blank } from './shared-fields.ts';

const deviceIdRule = mustBe(`1-${deviceIdBytesMax} bytes of valid UTF-8`);

const deviceId = z
  .string(deviceIdRule)
  .min(1, deviceIdRule)
  .max(deviceIdBytesMax, deviceIdRule)
  .transform((text, context) => {
    const parsed = parseDeviceId(text);
    if (parsed !== null) return parsed;
    context.addIssue(deviceIdRule.error({ input: text }));
    return z.NEVER;
  });

const description = `What the messaging app's \`join_voip_room\` notification says, and what the device can take and give. In an
optional field \`""\` and \`null\` count as left out; fields that are not listed are ignored. Lengths are bytes of
UTF-8. Media fields that are left out come from the defaults of the device's product, where it has some, and else from
those here; the whole is checked as if it had been sent, and a message says which field came from the product. Without
video (\`no_video\`, or \`none\` in both directions) nothing of video is taken from there, with \`video_mt\` neither format.
Beyond what each field says of itself, 40003 is answered when

- \`audio_rate\` or \`audio_channels\` is left out, and the device's product has no default for it;
- \`video_mt\` is given with \`up_video_mt\` or \`down_video_mt\` and not all that are given agree;
- both \`up_video_mt\` and \`down_video_mt\` are given, are not the same, and the server is set to refuse that
  (\`calls.mixed_formats\`);
- with video, one of \`screen_width\` and \`screen_height\` is given without the other, or is no integer from 1 to
  ${screenSideMax}; without video (\`no_video\`, or \`none\` in both directions) any number will do, and is not used;
- \`video_res_mode\` is \`fit_screen\` or \`fill_screen\` and the format of the video to the device is not \`mjpeg\`, as
  with \`no_video\`, or the screen is left out, or a side of it is below 2 or, for \`fill_screen\`, odd;
- \`device_id\` is so full of control characters that a token has no room for it.
`;

export const callCredentialsSchema = z
  .object({
    msg_session_key: requiredText(callTextBytesMax).describe(
      '`session_key` of the notification. A secret: it goes to the bridge only.',
    ),
    msg_room_id: requiredText(roomIdBytesMax).describe(
      '`room_id` of the notification. Asked again for the same device and room, the same session is answered.',
    ),
    msg_session_token: requiredText(callTextBytesMax).describe(
      '`server_token` of the notification. A secret: it goes to the bridge only.',
    ),
    msg_app_id: requiredWord(msgIdCharactersMax).describe('Mini program application id.'),
    device_id: deviceId.describe("The device of the backend's push message, byte for byte."),
    msg_model_id: requiredWord(msgIdCharactersMax).describe(
      'Hardware model id, as the messaging app knows it.',
    ),
    msg_payload: optionalText(callPayloadBytesMax).describe('Passed through to the bridge.'),
    calling_timeout_sec: optionalSeconds(callingTimeoutSecondsMax, callingTimeoutSecondsDefault).describe(
      'Seconds that it may ring, above 0; a fraction is rounded up.',
    ),
    no_video: optionalChoice([true, false], false).describe(
      'True: audio only, whatever the video formats say.',
    ),
    video_mt: optionalChoice(downlinkVideoFormats, undefined).describe('Both video formats at once.'),
    up_video_mt: optionalChoice(uplinkVideoFormats, undefined).describe(
      'Video format from the device; left out, and without `video_mt`: `h264`, or `none` with `no_video`.',
    ),
    down_video_mt: optionalChoice(downlinkVideoFormats, undefined).describe(
      'Video format to the device; left out, and without `video_mt`: `h264`, or `none` with `no_video`.',
    ),
    down_video_rotation: optionalChoice(videoRotations, 0).describe(
      "Orientation of the video to the device. 0: as the messaging app's SDK does it. 1: an upright stream, while the " +
        'mini program sets `encodeVideoRotation=1`. 2: the rotated stream is kept.',
    ),
    screen_width: optionalSide().describe(
      'Pixels; left out together with `screen_height`, `auto` asks for a landscape picture of 320 × 240.',
    ),
    screen_height: optionalSide().describe('Pixels.'),
    video_res_mode: optionalChoice(resolutionModes, 'auto').describe(
      'How the video to the device meets its screen. `auto`: passed through. `fit_screen`: scaled down to fit inside. ' +
        '`fill_screen`: scaled and cropped to fill it exactly.',
    ),
    down_audio_mt: optionalChoice(downlinkAudioFormats, 'alaw').describe('Audio format to the device.'),
    audio_rate: requiredChoice(audioRates).describe(
      "Samples per second; may be left out where the device's product has a default.",
    ),
    audio_channels: requiredChoice(audioChannelCounts).describe(
      "Channels; may be left out where the device's product has a default.",
    ),
  })
  .describe(description);

/** What each field says by itself, defaults filled in. */
export type CallCredentialsFields = z.output<typeof callCredentialsSchema>;

type Scalar = string | number | boolean;

/*
 * The kinds of field. Each says in words what it takes, so that every mistake in it is answered with the same sentence; in
 * an optional one, `""` and null count as left out.
 */

/** `rule`: what a field must be, for the message. */
function mustBe(rule: string): { readonly error: (issue: { readonly input?: unknown }) => string } {
  return { error: ({ input }) => (input === undefined ? 'is missing' : `must be ${rule}`) };
}

function requiredText(bytesMax: number) {
  const params = mustBe(`a string of 1-${bytesMax} bytes`);
  return boundedText(z.string(params).min(1, params), bytesMax, params);
}

/** Left out, it is empty. */
function optionalText(bytesMax: number) {
  const params = mustBe(`a string of at most ${bytesMax} bytes`);
  return orElse(boundedText(z.string(params), bytesMax, params).nullable(), '');
}

/** Characters are never more than bytes, so that the bound a JSON schema can state holds too. */
function boundedText(text: z.ZodString, bytesMax: number, params: ReturnType<typeof mustBe>) {
  return text.max(bytesMax, params).refine((given) => utf8Length(given) <= bytesMax, params);
}

/** Read by devices without decoding, and standing in a URL as it is. */
function requiredWord(charactersMax: number) {
  const params = mustBe(`1-${charactersMax} characters of A-Z, a-z, 0-9, _, . and -`);
  return z
    .string(params)
    .max(charactersMax, params)
    .regex(/^[A-Za-z0-9_.-]+$/, params);
}

function requiredChoice<const Choice extends Scalar>(choices: readonly Choice[]) {
  return z.literal(choices, oneOf(choices));
}

/** Left out, it is `otherwise`. */
function optionalChoice<const Choice extends Scalar, const Otherwise extends Choice | undefined>(
  choices: readonly Choice[],
  otherwise: Otherwise,
) {
  return orElse(z.literal([...choices, '', null], oneOf(choices)), otherwise);
}

/** Left out, it is `otherwise`. A fraction is rounded up. */
function optionalSeconds(max: number, otherwise: number) {
  const params = mustBe(`a number above 0, at most ${max}`);
  const seconds = z.number(params).gt(0, params).max(max, params);
  return orElse(z.union([seconds, z.literal(['', null])], params), otherwise).transform(Math.ceil);
}

/** Whether it has to be in that range depends on other fields. */
function optionalSide() {
  const params = mustBe(`an integer from 1 to ${screenSideMax}`);
  return orElse(z.union([z.number(params), z.literal(['', null])], params), undefined);
}

function oneOf(choices: readonly Scalar[]) {
  return mustBe(`one of ${choices.join(', ')}`);
}

function orElse<Field extends z.ZodType, Otherwise>(field: Field, otherwise: Otherwise) {
  type Given = Exclude<z.output<Field>, Blank>;
  return field
    .optional()
    .meta(otherwise === undefined ? {} : { default: otherwise })
    .transform((given): Given | Otherwise => (isBlank(given) ? otherwise : (given as Given)));
}
