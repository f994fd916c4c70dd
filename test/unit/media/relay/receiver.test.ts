import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallMedia } from '../../../../src/model/call.ts';
import { takingsOf } from '../../../../src/media/relay/receiver.ts';
import { audioOnlyMedia } from '../../../support/call-scene.ts';
import { autoMedia, fillMedia, fitMedia, h264Media } from '../../../support/relay-scene.ts';

const own = 'mjpeg, else auto';
const calls: readonly [string, CallMedia, { frames: string; pictures: string; source: string }][] = [
  [
    'fit_screen',
    fitMedia,
    { frames: '-, else 160×100 fit_screen', pictures: '-, else 160×100 fit_screen', source: own },
  ],
  [
    'fill_screen',
    fillMedia,
    { frames: '-, else 160×100 fill_screen', pictures: '-, else 160×100 fill_screen', source: own },
  ],
  ['auto', autoMedia, { frames: own, pictures: own, source: own }],
  ['an H.264 downlink', h264Media, { frames: 'h264, else auto h264', pictures: own, source: own }],
  [
    'no video',
    audioOnlyMedia,
    { frames: '-, else nothing', pictures: '-, else nothing', source: '-, else nothing' },
  ],
];

for (const [name, media, expected] of calls)
  test(`what passes untouched, and what is made of the rest: ${name}`, () => {
    const { frames, pictures, source } = takingsOf(media);
    const said = [frames, pictures, source].map(({ passes, shape }) => {
      const screen = shape?.screen ? `${shape.screen.width}×${shape.screen.height} ` : '';
      return `${passes ?? '-'}, else ${shape === null ? 'nothing' : screen + shape.mode}${shape?.format === undefined ? '' : ` ${shape.format}`}`;
    });
    assert.deepEqual(said, [expected.frames, expected.pictures, expected.source]);
  });

test('who takes the same pictures has one shape, so that they are made once', () => {
  const { frames, pictures } = takingsOf(fitMedia);
  assert.equal(frames.shape, pictures.shape);
  const auto = takingsOf(autoMedia);
  assert.equal(auto.frames.shape, auto.source.shape);
});
