import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallMedia } from '../../../../src/model/call.ts';
import { videoFrameFormats } from '../../../../src/model/media/picture.ts';
import { takingsOf, type ReceiverKind, type VideoTaking } from '../../../../src/media/relay/receiver.ts';
import { audioOnlyMedia } from '../../../support/call-scene.ts';
import { autoMedia, fillMedia, fitMedia, h264Media } from '../../../support/relay-scene.ts';

const own = 'mjpeg, else auto';
const live = 'h264 mjpeg, else auto';
const fit = '-, else 160×100 fit_screen';
const fill = '-, else 160×100 fill_screen';
const h264 = 'h264, else auto h264';
const none = '-, else nothing';
const calls: readonly [string, CallMedia, Readonly<Record<ReceiverKind, string>>][] = [
  ['fit_screen', fitMedia, { frames: fit, pictures: fit, source: own, live_source: live, live_output: fit }],
  [
    'fill_screen',
    fillMedia,
    { frames: fill, pictures: fill, source: own, live_source: live, live_output: fill },
  ],
  ['auto', autoMedia, { frames: own, pictures: own, source: own, live_source: live, live_output: own }],
  [
    'an H.264 downlink',
    h264Media,
    {
      frames: h264,
      pictures: own,
      source: own,
      live_source: live,
      live_output: '-, else auto h264, h264 none',
    },
  ],
  [
    'no video',
    audioOnlyMedia,
    { frames: none, pictures: none, source: none, live_source: none, live_output: none },
  ],
];

/** The formats taken untouched, the shape made of the others, and the formats that nothing is made of. */
function describeTaking(taking: VideoTaking): string {
  const untouched = videoFrameFormats.filter((format) => taking(format) === 'untouched');
  const made = videoFrameFormats.map(taking).find((taken) => taken !== 'untouched' && taken !== null);
  const left = videoFrameFormats.filter((format) => taking(format) === null);
  const { mode, screen, format } = typeof made === 'object' && made !== null ? made : noShape;
  const size = screen === null ? '' : `${screen.width}×${screen.height} `;
  const said = `${untouched.join(' ') || '-'}, else ${size}${mode}${format === undefined ? '' : ` ${format}`}`;
  return left.length === 0 || left.length === videoFrameFormats.length
    ? said
    : `${said}, ${left.join(' ')} none`;
}
const noShape = { mode: 'nothing', screen: null, format: undefined };

for (const [name, media, expected] of calls)
  test(`formats passed untouched, and pictures made of the others: ${name}`, () => {
    const takings = Object.entries(takingsOf(media)).map(([kind, taking]) => [kind, describeTaking(taking)]);
    assert.deepEqual(Object.fromEntries(takings), expected);
  });

test('receivers of the same pictures share one shape, so that they are made once', () => {
  const { frames, pictures, live_output: output } = takingsOf(fitMedia);
  for (const taking of [pictures, output]) assert.equal(taking('i420'), frames('i420'));
  const auto = takingsOf(autoMedia);
  for (const taking of [auto.source, auto.live_source]) assert.equal(taking('i420'), auto.frames('i420'));
  const coded = takingsOf(h264Media);
  assert.equal(coded.frames('mjpeg'), coded.live_output('mjpeg'));
});
