/** The media of every combination of the video formats, screens, modes and audio only. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallMedia } from '../../../../src/model/call.ts';
import type { MixedFormats } from '../../../../src/protocol/rest/call-media.ts';
import { decodeCallBody, callBody } from '../../../support/call-bodies.ts';

type Changes = Readonly<Record<string, string | undefined>>;

function decode(changes: Changes, mixed: MixedFormats = 'allow'): CallMedia | string {
  const decoded = decodeCallBody(callBody(changes), mixed, () => null);
  return decoded.ok ? decoded.value.media : decoded.error;
}

const given = [undefined, 'h264', 'h265', 'mjpeg', 'none'] as const;
type Given = (typeof given)[number];
interface Formats {
  readonly both: Given;
  readonly up: Given;
  readonly down: Given;
}
const combinations: readonly Formats[] = given.flatMap((both) =>
  given.flatMap((up) => given.map((down) => ({ both, up, down }))),
);

/** An independent formulation: the given formats, and whether they agree. */
function expected({ both, up, down }: Formats): readonly [up: string, down: string] | string {
  if (both === 'h265') return 'video_mt must be one of h264, mjpeg, none';
  if (down === 'h265') return 'down_video_mt must be one of h264, mjpeg, none';
  const words = [both, up, down].filter((word) => word !== undefined);
  if (both === undefined) return [up ?? 'h264', down ?? 'h264'];
  return new Set(words).size === 1
    ? [both, both]
    : 'video_mt must equal the up_video_mt and down_video_mt that are given with it';
}

function fieldsOf({ both, up, down }: Formats): Changes {
  return {
    video_mt: JSON.stringify(both),
    up_video_mt: JSON.stringify(up),
    down_video_mt: JSON.stringify(down),
  };
}

for (const formats of combinations) {
  const { both = 'nothing', up = 'nothing', down = 'nothing' } = formats;
  test(`video ${both}, up ${up}, down ${down}: with video and without`, () => {
    const want = expected(formats);
    const withVideo = decode(fieldsOf(formats));
    const without = decode({ ...fieldsOf(formats), no_video: 'true' });
    if (typeof want === 'string') return assert.deepEqual([withVideo, without], [want, want]);
    assert.ok(typeof withVideo === 'object' && typeof without === 'object');
    assert.deepEqual([withVideo.upVideo, withVideo.downVideo], want);
    assert.deepEqual([without.upVideo, without.downVideo], ['none', 'none']);
  });
}

test('32 of the 125 combinations of formats are accepted', () => {
  assert.equal(combinations.length, 125);
  const taken = combinations.filter((formats) => typeof decode(fieldsOf(formats)) === 'object');
  // Without video_mt 5 uplinks and 4 downlinks; with each of its 3 values: it alone, or with one or both that agree.
  assert.equal(taken.length, 5 * 4 + 3 * 4);
});

test('a blank format counts as omitted', () => {
  assert.deepEqual(decode({ video_mt: '""', up_video_mt: 'null', down_video_mt: '"mjpeg"' }), {
    ...media({}),
    downVideo: 'mjpeg',
  });
});

function media(changes: Partial<CallMedia>): CallMedia {
  return {
    noVideo: false,
    upVideo: 'h264',
    downVideo: 'h264',
    rotation: 0,
    screen: { width: 320, height: 240 },
    resolution: 'auto',
    downAudio: 'alaw',
    audioRate: 8000,
    audioChannels: 1,
    ...changes,
  };
}

const sides = {
  missingWidth: 'screen_width is missing: it is required together with screen_height',
  missingHeight: 'screen_height is missing: it is required together with screen_width',
  noWidthFit: 'screen_width is missing: fit_screen needs the screen',
  noHeightFit: 'screen_height is missing: fit_screen needs the screen',
  noHeightFill: 'screen_height is missing: fill_screen needs the screen',
  tooWide: 'screen_width must be an integer from 1 to 16384',
  narrow: 'screen_width must be an integer from 2 to 16384 with fit_screen',
  low: 'screen_height must be an integer from 2 to 16384 with fit_screen',
  narrowFill: 'screen_width must be an integer from 2 to 16384 with fill_screen',
  oddWidth: 'screen_width must be even with fill_screen',
  oddHeight: 'screen_height must be even with fill_screen',
} as const;

/** Mode, width, height, the message; null: accepted. The downlink is MJPEG. */
const screens: readonly (readonly [string, string | undefined, string | undefined, string | null])[] = [
  ['auto', '1', '1', null],
  ['auto', '161', '101', null],
  ['auto', '16384', '16384', null],
  ['auto', '16385', '240', sides.tooWide],
  ['auto', '0', '0', sides.tooWide],
  ['auto', undefined, '240', sides.missingWidth],
  ['auto', '320', undefined, sides.missingHeight],
  ['auto', undefined, undefined, null],
  ['auto', '""', 'null', null],
  ['auto', '""', '240', sides.missingWidth],
  ['auto', '320', 'null', sides.missingHeight],
  ['fit_screen', '160', '100', null],
  ['fit_screen', '161', '101', null],
  ['fit_screen', '2', '2', null],
  ['fit_screen', '3', '16384', null],
  ['fit_screen', '1', '100', sides.narrow],
  ['fit_screen', '160', '1', sides.low],
  ['fit_screen', undefined, '100', sides.noWidthFit],
  ['fit_screen', '160', undefined, sides.noHeightFit],
  ['fit_screen', undefined, undefined, sides.noWidthFit],
  ['fill_screen', '160', '100', null],
  ['fill_screen', '2', '2', null],
  ['fill_screen', '16384', '16384', null],
  ['fill_screen', '161', '100', sides.oddWidth],
  ['fill_screen', '160', '101', sides.oddHeight],
  ['fill_screen', '161', '101', sides.oddWidth],
  ['fill_screen', '16383', '16384', sides.oddWidth],
  ['fill_screen', '1', '100', sides.narrowFill],
  ['fill_screen', '160', undefined, sides.noHeightFill],
];
for (const [mode, width, height, message] of screens)
  test(`${mode} on a screen of ${width ?? 'nothing'} by ${height ?? 'nothing'} is ${message ?? 'accepted'}`, () => {
    const decoded = decode({
      video_res_mode: JSON.stringify(mode),
      down_video_mt: '"mjpeg"',
      screen_width: width,
      screen_height: height,
    });
    if (message !== null) return assert.equal(decoded, message);
    assert.ok(typeof decoded === 'object');
    const isNone = Number(width ?? 0) === 0 || width === '""';
    assert.deepEqual(decoded.screen, isNone ? null : { width: Number(width), height: Number(height) });
    assert.equal(decoded.resolution, mode);
  });

const notMjpeg = 'video_res_mode must be auto unless the video format to the device is mjpeg';
const downlinks: readonly (readonly [string, Changes, boolean])[] = [
  ['nothing is said of it', {}, false],
  ['it is h264', { down_video_mt: '"h264"' }, false],
  ['it is none', { down_video_mt: '"none"' }, false],
  ['it is mjpeg', { down_video_mt: '"mjpeg"' }, true],
  ['both are mjpeg', { video_mt: '"mjpeg"' }, true],
  ['only the uplink is mjpeg', { up_video_mt: '"mjpeg"' }, false],
  ['it is mjpeg and the uplink h265', { up_video_mt: '"h265"', down_video_mt: '"mjpeg"' }, true],
  ['there is no video', { no_video: 'true' }, false],
  ['it is mjpeg and there is no video', { no_video: 'true', down_video_mt: '"mjpeg"' }, false],
];
for (const mode of ['fit_screen', 'fill_screen'])
  for (const [name, changes, isTaken] of downlinks)
    test(`${mode} is ${isTaken ? 'accepted' : 'refused'} when ${name} of the video to the device`, () => {
      const decoded = decode({ ...changes, video_res_mode: JSON.stringify(mode) });
      assert.equal(typeof decoded === 'string' ? decoded : decoded.resolution, isTaken ? mode : notMjpeg);
    });

/** Each means no video in either direction. */
const audioOnlySpellings: readonly (readonly [string, Changes])[] = [
  ['no_video', { no_video: 'true' }],
  ['no_video beside formats', { no_video: 'true', up_video_mt: '"h265"', down_video_mt: '"mjpeg"' }],
  ['none in video_mt', { video_mt: '"none"' }],
  ['none in both directions', { up_video_mt: '"none"', down_video_mt: '"none"' }],
];
const unusedScreens: readonly (readonly [string, Changes])[] = [
  ['no screen', { screen_width: undefined, screen_height: undefined }],
  ['a blank screen', { screen_width: '""', screen_height: 'null' }],
  ['a screen', {}],
  ['a width alone', { screen_height: undefined }],
  ['a height alone', { screen_width: undefined }],
  ['a screen of 0 by 0', { screen_width: '0', screen_height: '0' }],
  ['a screen of -1 by 99999.5', { screen_width: '-1', screen_height: '99999.5' }],
];
for (const [spelling, formats] of audioOnlySpellings)
  for (const [name, screen] of unusedScreens)
    test(`audio only by ${spelling}, with ${name}: the screen is ignored`, () => {
      assert.deepEqual(
        decode({ ...formats, ...screen }),
        media({ noVideo: true, upVideo: 'none', downVideo: 'none', screen: null }),
      );
    });

test('video in one direction is not audio only: a single side of the screen is a mistake', () => {
  const upOnly = { up_video_mt: '"h264"', down_video_mt: '"none"' };
  assert.equal(decode({ ...upOnly, screen_width: undefined }), sides.missingWidth);
  assert.deepEqual(
    decode({ ...upOnly, screen_width: undefined, screen_height: undefined }),
    media({ downVideo: 'none', screen: null }),
  );
});

test('a server may be set to refuse two different given directions, and nothing else', () => {
  const unlike =
    'up_video_mt and down_video_mt must be the same: this server is set to refuse different formats';
  const refused = [
    { up_video_mt: '"h264"', down_video_mt: '"mjpeg"' },
    { up_video_mt: '"h265"', down_video_mt: '"h264"' },
    { up_video_mt: '"none"', down_video_mt: '"h264"' },
    { no_video: 'true', up_video_mt: '"none"', down_video_mt: '"h264"' },
  ];
  for (const formats of refused) {
    assert.equal(decode(formats, 'refuse'), unlike);
    assert.equal(typeof decode(formats, 'allow'), 'object');
  }
  const taken = [{}, { down_video_mt: '"mjpeg"' }, { up_video_mt: '"mjpeg"', down_video_mt: '"mjpeg"' }];
  for (const formats of taken) assert.equal(typeof decode(formats, 'refuse'), 'object');
});

test('contradictory formats are reported before the screen, and the screen before the mode', () => {
  const changes = { video_mt: '"h264"', screen_width: '3', video_res_mode: '"fill_screen"' };
  assert.match(JSON.stringify(decode({ ...changes, up_video_mt: '"none"' })), /^"video_mt /);
  assert.match(JSON.stringify(decode(changes)), /^"screen_width /);
  assert.match(JSON.stringify(decode({ ...changes, screen_width: '4' })), /^"video_res_mode /);
});
