import assert from 'node:assert/strict';
import { test } from 'node:test';
import { screenSideMax } from '../../../../src/model/limits.ts';
import { requestedSize, startMessage } from '../../../../src/core/calls/leg-messages.ts';
import type { CallMedia, VideoRequest } from '../../../../src/model/call.ts';
import { callMedia, callRoom, callSession } from '../../../support/call-scene.ts';

const screens: [screen: string, requested: string, why: string][] = [
  ['480x240', '320x240', 'the largest area that is small'],
  ['240x480', '240x320', 'the same, upright'],
  ['115200x1', '320x240', 'the area counts, not the sides'],
  ['1x115200', '240x320', 'the same, upright'],
  ['115201x1', '640x480', 'one pixel more'],
  ['1x115201', '480x640', 'one pixel more, upright'],
  ['481x240', '640x480', 'one column more'],
  ['480x241', '640x480', 'one row more'],
  ['241x480', '480x640', 'one column more, upright'],
  ['240x481', '480x640', 'one row more, upright'],
  ['320x360', '240x320', 'exactly the area, upright'],
  ['360x320', '320x240', 'exactly the area, of other sides'],
  ['339x339', '320x240', 'a square below: 114 921'],
  ['340x340', '640x480', 'a square above: 115 600'],
  ['1x1', '320x240', 'the least screen there is'],
  ['1x2', '240x320', 'taller than wide by a pixel'],
  ['2x1', '320x240', 'wider than tall by a pixel'],
  ['160x100', '320x240', 'the worked case of the scaled modes'],
  ['16384x16384', '640x480', 'the largest screen there is'],
  ['4096x4095', '640x480', 'nearly square'],
  ['4095x4096', '480x640', 'nearly square, upright'],
];
for (const [screen, requested, why] of screens)
  test(`a screen of ${screen} asks for ${requested}: ${why}`, () => {
    const [width, height] = screen.split('x').map(Number);
    assert.ok(width !== undefined && height !== undefined);
    const size = requestedSize({ width, height });
    assert.equal(`${size.width}x${size.height}`, requested);
  });

test('a screen turned by a quarter asks for the same size turned, at every area around the boundary', () => {
  let turned = 0;
  for (let width = 1; width <= screenSideMax; width += 7)
    for (const height of [1, 28, 239, 240, 241, 338, 339, 340, 479, 480, 481, screenSideMax]) {
      if (width === height) continue;
      const [lying, upright] = [
        requestedSize({ width, height }),
        requestedSize({ width: height, height: width }),
      ];
      assert.deepEqual(upright, { width: lying.height, height: lying.width });
      assert.equal(Math.max(lying.width, lying.height), width * height <= 115_200 ? 320 : 640);
      turned += 1;
    }
  assert.ok(turned > 5000);
});

const requests: { name: string; media: Partial<CallMedia>; request: VideoRequest | null }[] = [
  {
    name: 'a small screen under auto',
    media: { resolution: 'auto', downVideo: 'h264', screen: { width: 480, height: 240 } },
    request: { width: 320, height: 240, rotation: 0, maxFps: 12 },
  },
  {
    name: 'a large upright screen under auto',
    media: { resolution: 'auto', screen: { width: 720, height: 1280 }, rotation: 1 },
    request: { width: 480, height: 640, rotation: 1, maxFps: 12 },
  },
  {
    name: 'a screen that the picture is fitted to',
    media: { resolution: 'fit_screen', screen: { width: 100, height: 160 } },
    request: { width: 240, height: 320, rotation: 0, maxFps: 12 },
  },
  {
    name: 'a screen that the picture fills',
    media: { resolution: 'fill_screen', screen: { width: 800, height: 480 }, rotation: 2 },
    request: { width: 640, height: 480, rotation: 2, maxFps: 12 },
  },
  {
    name: 'a device that told no screen',
    media: { resolution: 'auto', screen: null },
    request: { width: 320, height: 240, rotation: 0, maxFps: 12 },
  },
  { name: 'no downlink video', media: { downVideo: 'none' }, request: null },
  {
    name: 'audio-only without a screen',
    media: { noVideo: true, upVideo: 'none', downVideo: 'none', screen: null },
    request: null,
  },
  {
    name: 'audio-only with a screen of 1x1',
    media: { noVideo: true, upVideo: 'none', downVideo: 'none', screen: { width: 1, height: 1 } },
    request: null,
  },
];
for (const { name, media, request } of requests)
  test(`a bridge receives its room, its media, and its request to the phone: ${name}`, () => {
    const session = callSession({ media: { ...callMedia, ...media } });
    const told = startMessage(session, 12);
    assert.deepEqual(told, {
      kind: 'start',
      sessionId: session.sessionId,
      room: callRoom,
      request,
      media: session.media,
    });
  });
