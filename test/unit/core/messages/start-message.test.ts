import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallMedia, VideoRequest } from '../../../../src/model/call.ts';
import { startMessage } from '../../../../src/core/messages/start-message.ts';
import { callMedia, callRoom, callSession } from '../../../support/call-scene.ts';

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
  test(`a bridge is told its room and its media, and what to ask the phone for: ${name}`, () => {
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
