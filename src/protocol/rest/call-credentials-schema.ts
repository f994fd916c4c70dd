/**
 * The body of POST /v1/token/msgvoip, field by field in the order of the source's table. It decodes requests, and generates the
 * component CallCredentialsRequest of docs/openapi.yaml (test/support/openapi-schemas.ts). Rules across fields are in
 * call-media.ts, a product's defaults in media-profile.ts. Source: API doc, Endpoint 4; calls-and-media.md, Credential issuance.
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

const description = `Content of the messaging app's \`join_voip_room\` notification, and the media capabilities of the device. In an
optional field \`""\` and \`null\` count as omitted; unknown fields are ignored. Lengths are bytes of UTF-8. Omitted media
fields are taken from the defaults of the device's product, or else have the defaults stated here; the result is validated as
if it had been sent, and an error message names the fields that came from the product. Without video (\`no_video\`, or
\`none\` in both directions) no video field is taken from the product, and with \`video_mt\` neither format is. Besides the
rules of each field, the answer is 40003 when

- \`audio_rate\` or \`audio_channels\` is omitted, and the device's product has no default for it;
- \`video_mt\` is given together with a different \`up_video_mt\` or \`down_video_mt\`;
- \`up_video_mt\` and \`down_video_mt\` are given and differ, and the server is set to refuse that
  (\`calls.mixed_formats\`);
- with video, only one of \`screen_width\` and \`screen_height\` is given, or one is not an integer from 1 to
  ${screenSideMax}; without video (\`no_video\`, or \`none\` in both directions) any number is accepted and ignored;
- \`video_res_mode\` is \`fit_screen\` or \`fill_screen\`, and the video format to the device is not \`mjpeg\` (as
  with \`no_video\`), or the screen is omitted, or one of its sides is below 2 or, for \`fill_screen\`, odd;
- \`device_id\` contains so many control characters that it does not fit into a token.
`;

export const callCredentialsSchema = z
  .object({
    msg_session_key: requiredText(callTextBytesMax).describe(
      '`session_key` of the notification. A secret: it goes to the bridge only.',
    ),
    msg_room_id: requiredText(roomIdBytesMax).describe(
      '`room_id` of the notification. A repeated request for the same device and room returns the same session.',
    ),
    msg_session_token: requiredText(callTextBytesMax).describe(
      '`server_token` of the notification. A secret: it goes to the bridge only.',
    ),
    msg_app_id: requiredWord(msgIdCharactersMax).describe('Mini program application id.'),
    device_id: deviceId.describe("The device of the backend's push message, byte for byte."),
    msg_model_id: requiredWord(msgIdCharactersMax).describe('Hardware model id in the messaging app.'),
    msg_payload: optionalText(callPayloadBytesMax).describe('Passed through to the bridge.'),
    calling_timeout_sec: optionalSeconds(callingTimeoutSecondsMax, callingTimeoutSecondsDefault).describe(
      'Ring timeout in seconds, above 0; a fraction is rounded up.',
    ),
    no_video: optionalChoice([true, false], false).describe(
      'True: audio only, regardless of the video formats.',
    ),
    video_mt: optionalChoice(downlinkVideoFormats, undefined).describe('Video format in both directions.'),
    up_video_mt: optionalChoice(uplinkVideoFormats, undefined).describe(
      'Video format from the device. Default: `video_mt`, else `h264`, or `none` with `no_video`.',
    ),
    down_video_mt: optionalChoice(downlinkVideoFormats, undefined).describe(
      'Video format to the device. Default: `video_mt`, else `h264`, or `none` with `no_video`.',
    ),
    down_video_rotation: optionalChoice(videoRotations, 0).describe(
      "Orientation of the video to the device. 0: the default of the messaging app's SDK. 1: an upright stream, if the " +
        'mini program sets `encodeVideoRotation=1`. 2: the stream stays rotated.',
    ),
    screen_width: optionalSide().describe(
      'Pixels. If both sides are omitted, `auto` requests a landscape picture of 320 × 240.',
    ),
    screen_height: optionalSide().describe('Pixels.'),
    video_res_mode: optionalChoice(resolutionModes, 'auto').describe(
      'Scaling of the video to the device. `auto`: passed through. `fit_screen`: scaled down to fit inside. ' +
        '`fill_screen`: scaled and cropped to fill it exactly.',
    ),
    down_audio_mt: optionalChoice(downlinkAudioFormats, 'alaw').describe('Audio format to the device.'),
    audio_rate: requiredChoice(audioRates).describe(
      "Samples per second; optional if the device's product has a default.",
    ),
    audio_channels: requiredChoice(audioChannelCounts).describe(
      "Channels; optional if the device's product has a default.",
    ),
  })
  .describe(description);

export type CallCredentialsFields = z.output<typeof callCredentialsSchema>;

type Scalar = string | number | boolean;

/** The kinds of field. Each has one sentence for all its faults. In an optional field, `""` and null count as omitted. */

function mustBe(rule: string): { readonly error: (issue: { readonly input?: unknown }) => string } {
  return { error: ({ input }) => (input === undefined ? 'is missing' : `must be ${rule}`) };
}

function requiredText(bytesMax: number) {
  const params = mustBe(`a string of 1-${bytesMax} bytes`);
  return boundedText(z.string(params).min(1, params), bytesMax, params);
}

/** Default: empty. */
function optionalText(bytesMax: number) {
  const params = mustBe(`a string of at most ${bytesMax} bytes`);
  return orElse(boundedText(z.string(params), bytesMax, params).nullable(), '');
}

/** Also bounds the characters, which are never more than the bytes: a JSON schema can state only that. */
function boundedText(text: z.ZodString, bytesMax: number, params: ReturnType<typeof mustBe>) {
  return text.max(bytesMax, params).refine((given) => utf8Length(given) <= bytesMax, params);
}

/** Devices read it without decoding, and it appears unescaped in a URL. */
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

/** Default: `otherwise`. */
function optionalChoice<const Choice extends Scalar, const Otherwise extends Choice | undefined>(
  choices: readonly Choice[],
  otherwise: Otherwise,
) {
  return orElse(z.literal([...choices, '', null], oneOf(choices)), otherwise);
}

/** Default: `otherwise`. A fraction is rounded up. */
function optionalSeconds(max: number, otherwise: number) {
  const params = mustBe(`a number above 0, at most ${max}`);
  const seconds = z.number(params).gt(0, params).max(max, params);
  return orElse(z.union([seconds, z.literal(['', null])], params), otherwise).transform(Math.ceil);
}

/** Other fields decide if the range applies. */
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
