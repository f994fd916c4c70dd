import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InvalidArgumentError } from 'commander';
import { noPlaybackTally } from '../../../../src/tools/bridge/bridge-playback.ts';
import { beginShow, parseSizes } from '../../../../src/tools/bridge/bridge-show.ts';
import { testFilm, type Film } from '../../../../src/tools/bridge/test-picture.ts';
import type { Size } from '../../../../src/model/call.ts';
import type { StartText } from '../../../../src/tools/simulator/media-leg.ts';
import { decodeFrameHeader } from '../../../../src/protocol/media/frame-header.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';

const [small, large] = [
  { width: 320, height: 240 },
  { width: 480, height: 640 },
];

const room = { app_id: 'a', model_id: 'm', room_id: 'r', session_key: 'k', session_token: 't' };
const start: StartText = {
  type: 'start',
  request: { width: 16, height: 16, rotation: 0, max_fps: 15 },
  audio: { format: 'alaw', rate: 8000, channels: 1 },
  payload: '',
  room,
};

test('sizes are read as people write them', () => {
  assert.deepEqual(parseSizes('320x240'), [small]);
  assert.deepEqual(parseSizes('320x240,480×640'), [small, large]);
  assert.deepEqual(parseSizes('16x4096'), [{ width: 16, height: 4096 }]);
});

test('what is no size, has an odd side or is out of bounds is refused', () => {
  for (const text of [
    '',
    '320',
    '320x',
    'x240',
    '320x240,',
    '321x240',
    '320x241',
    '14x16',
    '4098x16',
    '-320x240',
  ])
    assert.throws(() => parseSizes(text), InvalidArgumentError, text);
});

/** The widths of the pictures of so many seconds, one a second. */
function widths(sizes: readonly Size[], seconds: number): readonly number[] {
  const clock = new DrivenClock();
  const played: number[] = [];
  const sink = {
    bufferedBytes: 0,
    frame: (bytes: Uint8Array) => {
      const header = decodeFrameHeader(bytes);
      assert.ok(header.ok && header.value.kind === 'video');
      played.push(header.value.width);
    },
  };
  const logger = { notify: () => undefined, trouble: () => undefined };
  const openFilm = (): Film => ({ ...testFilm(), framesPerSecond: 1 });
  const plan = { format: 'i420', tone: null, openFilm } as const;
  beginShow({ clock, engine: null, tally: noPlaybackTally(), logger }, { ...plan, sizes }, start, sink);
  clock.advance((seconds - 1) * 1000);
  return played;
}

test('each size has its turn, and then the first one again', () => {
  assert.deepEqual(
    widths([small, large], 16),
    [320, 480, 320].flatMap((width) => Array<number>(5).fill(width)).concat(480),
  );
});

test('one size stays', () => {
  assert.deepEqual(widths([small], 16), Array(16).fill(320));
});
