import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeviceId } from '../../../../src/model/ids.ts';
import type { MediaProfile } from '../../../../src/model/product-defaults.ts';
import { type CallCredentialsBody } from '../../../../src/protocol/rest/call-credentials.ts';
import type { MixedFormats } from '../../../../src/protocol/rest/call-media.ts';
import { parseMediaProfile } from '../../../../src/protocol/rest/media-profile.ts';
import { decodeCallBody, callBody } from '../../../support/call-bodies.ts';

const doorbell: MediaProfile = {
  calling_timeout_sec: 44.5,
  up_video_mt: 'h264',
  down_video_mt: 'mjpeg',
  down_video_rotation: 2,
  screen_width: 160,
  screen_height: 100,
  video_res_mode: 'fill_screen',
  down_audio_mt: 'opus',
  audio_rate: 16_000,
  audio_channels: 2,
};

/** Only the room. */
const bare = {
  screen_width: undefined,
  screen_height: undefined,
  audio_rate: undefined,
  audio_channels: undefined,
};

type Changes = Readonly<Record<string, string | undefined>>;

function decode(changes: Changes, profile: MediaProfile | null, mixed: MixedFormats = 'allow') {
  return decodeCallBody(callBody({ ...bare, ...changes }), mixed, () => profile);
}

function decoded(changes: Changes, profile: MediaProfile = doorbell): CallCredentialsBody {
  const body = decode(changes, profile);
  assert.ok(body.ok, JSON.stringify(body));
  return body.value;
}

function mistake(changes: Changes, profile: MediaProfile | null, mixed?: MixedFormats): string {
  const body = decode(changes, profile, mixed);
  assert.ok(!body.ok, JSON.stringify(body));
  return body.error;
}

const doorbellMedia = {
  noVideo: false,
  upVideo: 'h264',
  downVideo: 'mjpeg',
  rotation: 2,
  screen: { width: 160, height: 100 },
  resolution: 'fill_screen',
  downAudio: 'opus',
  audioRate: 16_000,
  audioChannels: 2,
};

test('omitted fields of a body come from the profile of its device, validated and rounded as if they had been sent', () => {
  const asked: DeviceId[] = [];
  const body = decodeCallBody(callBody(bare), 'allow', (deviceId) => {
    asked.push(deviceId);
    return doorbell;
  });
  assert.ok(body.ok);
  assert.deepEqual([body.value.media, body.value.callingTimeoutS], [doorbellMedia, 45]);
  assert.deepEqual(asked, ['TESTDEVICE01']);
});

const given: readonly (readonly [field: string, text: string, media: object])[] = [
  ['up_video_mt', '"h265"', { upVideo: 'h265' }],
  ['down_video_rotation', '0', { rotation: 0 }],
  ['screen_width', '320', { screen: { width: 320, height: 100 } }],
  ['screen_height', '240', { screen: { width: 160, height: 240 } }],
  ['video_res_mode', '"auto"', { resolution: 'auto' }],
  ['down_audio_mt', '"alaw"', { downAudio: 'alaw' }],
  ['audio_rate', '8000', { audioRate: 8000 }],
  ['audio_channels', '1', { audioChannels: 1 }],
];
for (const [field, text, media] of given)
  test(`a given ${field} takes precedence, and the rest comes from the profile`, () => {
    assert.deepEqual(decoded({ [field]: text }).media, { ...doorbellMedia, ...media });
  });

for (const blank of ['null', '""'])
  test(`${blank} in a field counts as omitted if the profile has it`, () => {
    const fields = Object.fromEntries(Object.keys(doorbell).map((field) => [field, blank]));
    assert.deepEqual(decoded(fields).media, doorbellMedia);
  });

for (const [what, changes] of [
  ['no_video', { no_video: 'true' }],
  ['none for both', { video_mt: '"none"' }],
  ['none in each direction', { up_video_mt: '"none"', down_video_mt: '"none"' }],
] as const)
  test(`a call without video (${what}) takes no video field from the profile`, () => {
    const { noVideo, rotation, screen, resolution, downAudio } = decoded(changes).media;
    assert.deepEqual([noVideo, rotation, screen, resolution, downAudio], [true, 0, null, 'auto', 'opus']);
  });

test('a body with video_mt takes neither format from the profile', () => {
  const { upVideo, downVideo } = decoded({ video_mt: '"mjpeg"' }).media;
  assert.deepEqual([upVideo, downVideo], ['mjpeg', 'mjpeg']);
});

const product = "a default of the device's product";
const mistakes: readonly (readonly [string, Changes, MediaProfile | null, string])[] = [
  ['nobody has the rate', {}, null, 'audio_rate is missing'],
  ['the product has the rate only', {}, { audio_rate: 8000 }, 'audio_channels is missing'],
  [
    'the mode of the product meets the format of the body',
    { down_video_mt: '"h264"' },
    doorbell,
    `video_res_mode, ${product}, must be auto unless the video format to the device is mjpeg`,
  ],
  [
    'the mode of the body meets the format of the product',
    { video_res_mode: '"fit_screen"', screen_width: '2', screen_height: '2' },
    { audio_rate: 8000, audio_channels: 1, down_video_mt: 'h264' },
    `video_res_mode must be auto unless the video format to the device is mjpeg (down_video_mt is ${product})`,
  ],
  [
    'the screen of the product meets the mode of the body',
    { video_res_mode: '"fill_screen"' },
    { ...doorbell, video_res_mode: 'auto', screen_width: 161 },
    `screen_width, ${product}, must be even with fill_screen`,
  ],
  [
    'the screen of the body meets the mode of the product',
    { screen_height: '99' },
    doorbell,
    `screen_height must be even with fill_screen (video_res_mode is ${product})`,
  ],
  [
    'one side is nowhere',
    {},
    { audio_rate: 8000, audio_channels: 1, screen_height: 100 },
    `screen_width is missing: it is required together with screen_height (screen_height is ${product})`,
  ],
  [
    'what is given is wrong by itself',
    { audio_rate: '44100' },
    doorbell,
    'audio_rate must be one of 8000, 16000',
  ],
];
for (const [what, changes, profile, message] of mistakes)
  test(`a mistake in the completed body names the fields of the product: ${what}`, () => {
    assert.equal(mistake(changes, profile), message);
  });

test('different formats are refused by the setting, even if one comes from the product', () => {
  const rule = 'and down_video_mt must be the same: this server is set to refuse different formats';
  assert.equal(mistake({}, doorbell, 'refuse'), `up_video_mt, ${product}, ${rule}`);
  assert.equal(
    mistake({ up_video_mt: '"h265"' }, doorbell, 'refuse'),
    `up_video_mt ${rule} (down_video_mt is ${product})`,
  );
});

test('a profile is looked up only for a valid device id', () => {
  const never = () => assert.fail('asked');
  for (const device_id of [undefined, '5', '""', `"${'x'.repeat(256)}"`])
    assert.ok(!decodeCallBody(callBody({ device_id }), 'allow', never).ok);
});

const right: readonly object[] = [
  {},
  doorbell,
  { video_res_mode: 'fit_screen' },
  { video_res_mode: 'fill_screen', screen_width: 160 },
  { down_video_mt: 'h264', up_video_mt: 'mjpeg' },
  { up_video_mt: 'none', down_video_mt: 'none' },
];
for (const profile of right)
  test(`${JSON.stringify(profile)} is a valid profile`, () => {
    assert.deepEqual(parseMediaProfile({ ...profile }), { ok: true, value: profile });
  });

test('null and an empty text in a profile count as omitted', () => {
  const profile = { audio_rate: 8000, audio_channels: null, down_audio_mt: '' };
  assert.deepEqual(parseMediaProfile(profile), { ok: true, value: { audio_rate: 8000 } });
});

const wrong: readonly (readonly [object, field: string, rule: string])[] = [
  [{ no_video: true }, 'no_video', 'is not a field of a media profile'],
  [{ video_mt: 'h264' }, 'video_mt', 'is not a field of a media profile'],
  [JSON.parse('{"__proto__":1}') as object, '__proto__', 'is not a field of a media profile'],
  [{ down_video_mt: 'h265' }, 'down_video_mt', 'must be one of h264, mjpeg, none'],
  [{ audio_rate: '8000' }, 'audio_rate', 'must be one of 8000, 16000'],
  [{ calling_timeout_sec: 0 }, 'calling_timeout_sec', 'must be a number above 0, at most 3600'],
  [{ screen_width: 'wide' }, 'screen_width', 'must be an integer from 1 to 16384'],
  [{ screen_width: 1.5 }, 'screen_width', 'must be an integer from 1 to 16384'],
  [
    { screen_height: 20_000, up_video_mt: 'none', down_video_mt: 'none' },
    'screen_height',
    'must be an integer from 1 to 16384',
  ],
  [{ video_res_mode: 'fill_screen', screen_height: 99 }, 'screen_height', 'must be even with fill_screen'],
  [
    { video_res_mode: 'fit_screen', down_video_mt: 'h264' },
    'video_res_mode',
    'must be auto unless the video format to the device is mjpeg',
  ],
  [
    { video_res_mode: 'fit_screen', up_video_mt: 'none', down_video_mt: 'none' },
    'video_res_mode',
    'must be auto unless the video format to the device is mjpeg',
  ],
];
for (const [profile, field, rule] of wrong)
  test(`${JSON.stringify(profile)} is an invalid profile`, () => {
    const parsed = parseMediaProfile({ ...profile });
    assert.ok(!parsed.ok);
    assert.deepEqual([parsed.error.field, parsed.error.rule], [field, rule]);
  });
