/**
 * A call whose pictures take its worker too long, and another call on the same worker: only the first is interrupted for more than a
 * moment. Source: calls-and-media.md, The media process.
 */
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Engine } from '../../src/media/codec/engine.ts';
import type { SourceFrame } from '../../src/model/media/picture.ts';
import { overdueFramesMax, overdueRefusalMs } from '../../src/model/media/decoding-limits.ts';
import { jpegFilm } from '../support/coded-frames.ts';
import { metric, metricsOf } from '../support/driven-server.ts';
import { engineTest } from '../support/engine-test.ts';
import {
  h264Key,
  h264OfSlices,
  h264Overdue,
  h265OfSlices,
  jpegOfHeaders,
  jpegOfScans,
  tinyH265Set,
} from '../support/hostile-pictures.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';
import {
  developmentKey,
  placeWireCall,
  textOf,
  videoFormats,
  wireFrame,
  type WireCall,
} from '../support/wire-call.ts';

const size = { width: 240, height: 320 };

let server: TestServer;
before(async () => {
  server = await startTestServer({
    media: 'child',
    overrides: [`media.bridge_keys=${developmentKey}`, 'media.workers=1'],
  });
});
after(() => server.stop());

function send({ bridge }: WireCall, { format, payload }: SourceFrame, timestamp: number): void {
  bridge.send(wireFrame({ format: videoFormats[format], timestamp, ...size }, payload));
}

/** Sends pictures until two more have arrived, since a replaced worker loses some. */
async function untilPictures(call: WireCall, [frame]: readonly SourceFrame[]): Promise<void> {
  assert(frame !== undefined);
  const before = call.device.frames.length;
  for (let sent = 0; call.device.frames.length < before + 2; sent += 1) {
    send(call, frame, sent * 100);
    await pause(50);
  }
}

async function counted(result: string): Promise<number> {
  return metric(await metricsOf(server), `reveille_media_frames_total{result="${result}"}`) ?? 0;
}

async function untilCounted(result: string, count: number): Promise<void> {
  while ((await counted(result)) < count) await pause(50);
}

const hostile: readonly [name: string, frames: (engine: Engine) => readonly SourceFrame[]][] = [
  ['a JPEG of 80 000 scans', () => [jpegOfScans(80_000)]],
  ['a JPEG of 60 000 frame headers', () => [jpegOfHeaders(60_000)]],
  ['H.264 of 10 000 slices', () => [h264Key(), h264OfSlices(1, [0, ...Array<number>(10_000).fill(1)])]],
  [
    'H.265 of 2000 slices behind a tiny parameter set',
    (engine) => h265OfSlices(engine, [0, ...Array<number>(2000).fill(1)], tinyH265Set(engine)),
  ],
];

engineTest(
  'frames that would cost a worker seconds are dropped, and another call is not affected',
  async (engine, t) => {
    const film = jpegFilm(engine, size, 1);
    const beside = await placeWireCall(t, server, { device_id: 'SLEEPING01' });
    await untilPictures(beside, film);
    for (const [name, frames] of hostile) {
      const [call, before] = [await placeWireCall(t, server), await counted('undecodable')];
      for (const [index, frame] of frames(engine).entries()) send(call, frame, index * 100);
      await untilCounted('undecodable', before + 1);
      await untilPictures(beside, film);
      assert.equal(await counted('overdue'), 0, name);
    }
    assert.equal(await counted('engine'), 0);
  },
);

engineTest(
  'a call whose frames overrun their time three times ends as error; another one continues',
  async (engine, t) => {
    const film = jpegFilm(engine, size, 1);
    const beside = await placeWireCall(t, server, { device_id: 'SLEEPING01' });
    const call = await placeWireCall(t, server);
    await untilPictures(beside, film);
    for (let overrun = 1; overrun <= overdueFramesMax; overrun += 1) {
      const before = await counted('overdue');
      send(call, h264Key(), overrun * 1000);
      send(call, h264Overdue(1), overrun * 1000 + 100);
      await untilCounted('overdue', before + 1);
      await untilPictures(beside, film);
      send(call, h264Key(), overrun * 1000 + 200);
      if (overrun === overdueFramesMax) break;
      await untilCounted('overdue', before + 2);
      await pause(overdueRefusalMs);
    }

    for (;;) {
      const { state, reason } = await textOf(call.device, 'state');
      if (state !== 'ended') continue;
      assert.equal(reason, 'error');
      break;
    }
    await untilPictures(beside, film);
  },
);
