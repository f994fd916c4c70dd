/**
 * The media path of a whole server and its media process, from wire to wire: coded video in at the bridge's leg, pictures
 * out at the device's. Source: calls-and-media.md, Legs and Resolution.
 */
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import type { Engine } from '../../src/media/codec/engine.ts';
import { FrameTranscoder } from '../../src/media/codec/frame-transcoder.ts';
import type { Size } from '../../src/model/call.ts';
import type { PictureShape, SourceFrame } from '../../src/model/picture.ts';
import {
  fillScreen,
  fitScreen,
  h264Film,
  h265Film,
  jpegFilm,
  onlyPicture,
  ownSize,
  planarFrame,
} from '../support/coded-frames.ts';
import { metric, metricsOf } from '../support/driven-server.ts';
import { engineTest } from '../support/engine-test.ts';
import { jpegStructure } from '../support/jpeg-structure.ts';
import type { MediaPeer } from '../support/media-peer.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';
import {
  developmentKey,
  placeWireCall,
  readWireFrame,
  textOf,
  timestampsOf,
  videoFormats,
  wireFrame,
  type WireHeader,
  type WireVideoFormat,
} from '../support/wire-call.ts';

const portrait: Size = { width: 240, height: 320 };

let server: TestServer;
before(async () => {
  server = await startTestServer({ media: 'child', overrides: [`media.bridge_keys=${developmentKey}`] });
});
after(() => server.stop());

/** As a bridge sends it: its own size in the header, unless that says otherwise. */
function video(
  { format, payload }: Pick<SourceFrame, 'format' | 'payload'>,
  timestamp: number,
  header: Partial<WireHeader> = portrait,
): Buffer {
  return wireFrame({ format: videoFormats[format], timestamp, ...header }, payload);
}

/** The picture that comes as the so-manieth, its header held against the JPEG's own. */
async function pictureOf(device: MediaPeer, count: number): Promise<ReturnType<typeof readWireFrame>> {
  await device.framesCome(count);
  const picture = readWireFrame(device.frames[count - 1] ?? Buffer.alloc(12));
  const { width, height, frameMarker, sampling, isEnded } = jpegStructure(picture.payload);
  assert.deepEqual([picture.kind, picture.format, picture.flags], [1, videoFormats.mjpeg, 1]);
  assert.deepEqual([picture.width, picture.height], [width, height]);
  assert.deepEqual([frameMarker, sampling, isEnded], [0xc0, ['2x2', '1x1', '1x1'], true]);
  return picture;
}

function sizeOf({ width, height }: Size): string {
  return `${width}x${height}`;
}

/** What the server makes of frames that are decoded one behind the other, by its codec alone. */
function picturesOf(engine: Engine, frames: readonly SourceFrame[], shape: PictureShape): Buffer[] {
  const transcoder = new FrameTranscoder(engine, { quality: 80, sourceMax: { width: 1920, height: 1080 } });
  try {
    return frames.map((frame) => Buffer.from(onlyPicture(transcoder, frame, shape).jpeg));
  } finally {
    transcoder.close();
  }
}

const films: Readonly<Record<WireVideoFormat, (engine: Engine) => SourceFrame[]>> = {
  h264: (engine) => h264Film(engine, portrait, 3),
  h265: (engine) => h265Film(engine, portrait, 3, 3),
  mjpeg: (engine) => jpegFilm(engine, portrait, 3),
  i420: () => [0, 1, 2].map((index) => planarFrame(portrait, index)),
};
const modes = {
  auto: { shape: ownSize, size: '240x320' },
  fit_screen: { shape: fitScreen, size: '74x100' },
  fill_screen: { shape: fillScreen, size: '160x100' },
} as const;

for (const [mode, { shape, size }] of Object.entries(modes))
  for (const format of ['h264', 'h265', 'mjpeg', 'i420'] as const)
    engineTest(`${format} of 240x320 is ${size} at a device of 160x100 under ${mode}`, async (engine, t) => {
      const { device, bridge } = await placeWireCall(t, server, { video_res_mode: mode });
      const frames = films[format](engine);
      const sent = frames.map((frame, index) =>
        video(frame, 4_294_967_200 + index * 70 - 2 ** 32 * Number(index > 1)),
      );
      const passes = mode === 'auto' && format === 'mjpeg';
      const expected = passes ? [] : picturesOf(engine, frames, shape);
      for (const [index, frame] of sent.entries()) {
        bridge.send(frame);
        const picture = await pictureOfEither(device, index + 1, passes);
        assert.equal(sizeOf(picture), size);
        assert.equal(picture.timestamp, readWireFrame(frame).timestamp);
        if (passes) assert.deepEqual(device.frames[index], frame, 'header and all, whatever its flags');
        else assert(picture.payload.equals(expected[index] ?? Buffer.of()), 'the picture of this frame');
      }
    });

function pictureOfEither(
  device: MediaPeer,
  count: number,
  isPassedOn: boolean,
): Promise<ReturnType<typeof readWireFrame>> {
  if (!isPassedOn) return pictureOf(device, count);
  return device.framesCome(count).then(() => readWireFrame(device.frames[count - 1] ?? Buffer.alloc(12)));
}

engineTest('a header that lies about the size changes nothing of the picture', async (engine, t) => {
  const { device, bridge } = await placeWireCall(t, server);
  const [first] = h264Film(engine, portrait, 1);
  const [second] = jpegFilm(engine, portrait, 1);
  assert(first !== undefined && second !== undefined);
  for (const [index, frame] of [first, second].entries()) {
    bridge.send(video(frame, index * 100, { width: 4096, height: 3 }));
    assert.equal(sizeOf(await pictureOf(device, index + 1)), '74x100');
  }
});

engineTest('an odd source is sent in its own size under auto', async (_engine, t) => {
  const { device, bridge } = await placeWireCall(t, server, { video_res_mode: 'auto' });
  const size = { width: 241, height: 133 };
  bridge.send(video(planarFrame(size), 0, size));
  assert.equal(sizeOf(await pictureOf(device, 1)), '241x133');
});

engineTest('a size that changes with every frame is the size of every picture', async (engine, t) => {
  const { device, bridge } = await placeWireCall(t, server);
  const fitted = { '240x320': '74x100', '640x480': '132x100', '176x144': '122x100', '100x90': '100x90' };
  let sent = 0;
  for (let round = 0; round < 3; round += 1)
    for (const [source, expected] of Object.entries(fitted)) {
      const [width = 0, height = 0] = source.split('x').map(Number);
      const size = { width, height };
      const [coded] = h264Film(engine, size, 1);
      const [jpeg] = jpegFilm(engine, size, 1);
      for (const frame of [coded, jpeg, planarFrame(size)]) {
        assert(frame !== undefined);
        bridge.send(video(frame, sent * 100, size));
        sent += 1;
        assert.equal(sizeOf(await pictureOf(device, sent)), expected, `of ${frame.format} ${source}`);
      }
    }
});

engineTest(
  'of 30 frames a second every second one is shown, and all of them are decoded',
  async (engine, t) => {
    const { device, bridge } = await placeWireCall(t, server);
    const film = h264Film(engine, portrait, 21);
    const expected = picturesOf(engine, film, fitScreen);
    for (const [index, frame] of film.entries()) {
      bridge.send(video(frame, Math.round((index * 1000) / 30)));
      if (index % 2 === 0) await pictureOf(device, index / 2 + 1);
    }
    const shown = timestampsOf(device.frames);
    assert.deepEqual(
      shown,
      film.flatMap((_, index) => (index % 2 === 0 ? [Math.round((index * 1000) / 30)] : [])),
    );
    assert(
      readWireFrame(device.frames.at(-1) ?? Buffer.alloc(12)).payload.equals(expected.at(-1) ?? Buffer.of()),
    );
  },
);

engineTest('what is passed on is not paced', async (engine, t) => {
  const { device, bridge } = await placeWireCall(t, server, { video_res_mode: 'auto' });
  const [frame] = jpegFilm(engine, portrait, 1);
  assert(frame !== undefined);
  for (let index = 0; index < 30; index += 1) {
    bridge.send(video(frame, index));
    await device.framesCome(index + 1);
  }
});

engineTest(
  'behind a corrupt frame a key frame is wanted, and what comes with it is right',
  async (engine, t) => {
    const { device, bridge } = await placeWireCall(t, server);
    const film = h264Film(engine, portrait, 7, [0, 4]);
    const good = film.map((frame, index) => video(frame, index * 100));
    const [first, second, third, fourth, key, ...last] = good;
    assert(first !== undefined && second !== undefined && third !== undefined);
    assert(fourth !== undefined && key !== undefined);
    bridge.send(first);
    await pictureOf(device, 1);
    bridge.send(second);
    await pictureOf(device, 2);
    bridge.send(Buffer.concat([third.subarray(0, 30), Buffer.alloc(third.length - 30, 0x55)]));
    await textOf(bridge, 'key_frame_wanted');
    bridge.send(fourth);
    bridge.send(key);
    await pictureOf(device, 3);
    for (const [index, frame] of last.entries()) {
      bridge.send(frame);
      await pictureOf(device, 4 + index);
    }
    assert.deepEqual(timestampsOf(device.frames), [0, 100, 400, 500, 600]);
    const expected = [
      ...picturesOf(engine, film.slice(0, 2), fitScreen),
      ...picturesOf(engine, film.slice(4), fitScreen),
    ];
    const shown = device.frames.map((frame) => readWireFrame(frame).payload);
    assert(expected.every((picture, index) => picture.equals(shown[index] ?? Buffer.of())));
  },
);

engineTest('parameter sets may come in a message of their own, before the key frame', async (engine, t) => {
  const { device, bridge } = await placeWireCall(t, server);
  const film = h264Film(engine, portrait, 2);
  const [key, next] = film;
  assert(key !== undefined && next !== undefined);
  const at = Buffer.from(key.payload).indexOf(Buffer.from('00000165', 'hex'));
  assert(at > 0, 'its slice is behind its parameter sets');
  bridge.send(video({ ...key, payload: key.payload.slice(0, at) }, 0));
  bridge.send(video({ ...key, payload: key.payload.slice(at) }, 0));
  bridge.send(video(next, 100));
  await pictureOf(device, 2);
  const expected = picturesOf(engine, film, fitScreen);
  const shown = device.frames.map((frame) => readWireFrame(frame).payload);
  assert(expected.every((picture, index) => picture.equals(shown[index] ?? Buffer.of())));
});

engineTest(
  'a frame that is too large is dropped by its own header, and the next one is shown',
  async (engine, t) => {
    const { device, bridge } = await placeWireCall(t, server);
    const [jpeg] = jpegFilm(engine, portrait, 1);
    const [huge] = h264Film(engine, { width: 1936, height: 1088 }, 1);
    const [coded] = h264Film(engine, portrait, 1);
    assert(jpeg !== undefined && huge !== undefined && coded !== undefined);
    const large = Buffer.from(jpeg.payload);
    large.writeUInt16BE(4000, large.indexOf(Buffer.from('ffc0', 'hex')) + 5);
    const before = await dropped('too_large');
    bridge.send(video({ format: 'mjpeg', payload: new Uint8Array(large) }, 0));
    bridge.send(video(huge, 100));
    bridge.send(video(jpeg, 200));
    await pictureOf(device, 1);
    bridge.send(video(coded, 300));
    await pictureOf(device, 2);
    assert.deepEqual(timestampsOf(device.frames), [200, 300]);
    while ((await dropped('too_large')) < before + 2);
  },
);

async function dropped(result: string): Promise<number> {
  return metric(await metricsOf(server), `reveille_media_frames_total{result="${result}"}`) ?? 0;
}

engineTest('a side that would be 0 drops the frame', async (_engine, t) => {
  const { device, bridge } = await placeWireCall(t, server);
  const flat = { width: 1000, height: 4 };
  bridge.send(video(planarFrame(flat), 0, flat));
  bridge.send(video(planarFrame(portrait), 100));
  assert.equal((await pictureOf(device, 1)).timestamp, 100);
  while ((await dropped('too_small')) < 1);
});

engineTest('messages of 20 bytes and what is no frame at all do a call no harm', async (_engine, t) => {
  const { device, bridge } = await placeWireCall(t, server);
  for (const format of Object.values(videoFormats))
    for (const fill of [0x00, 0x01, 0xff])
      bridge.send(wireFrame({ format, width: 4, height: 4 }, Buffer.alloc(8, fill)));
  for (const message of [Buffer.alloc(0), Buffer.alloc(12), Buffer.alloc(20), Buffer.alloc(20, 0xff)]) {
    bridge.send(message);
    await textOf(bridge, 'error');
  }
  bridge.send(video(planarFrame(portrait), 1000));
  assert.equal((await pictureOf(device, 1)).timestamp, 1000);
});

engineTest('frames are counted by what became of them, and rebuilds and times with them', async () => {
  const text = await metricsOf(server);
  for (const name of [
    'reveille_media_frames_total{result="encoded"}',
    'reveille_media_frames_total{result="passed"}',
    'reveille_media_rebuilds_total',
    'reveille_media_frame_seconds_count',
  ])
    assert((metric(text, name) ?? 0) > 0, name);
});
