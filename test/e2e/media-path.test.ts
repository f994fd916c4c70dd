/**
 * The media path through a whole server and its media process: encoded video enters at the bridge's leg, pictures leave at the device's;
 * also pass-through, reconnects and slow peers. Source: calls-and-media.md, Legs and
 * Resolution.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Engine } from '../../src/media/codec/engine.ts';
import { FrameTranscoder } from '../../src/media/codec/frame-transcoder.ts';
import type { Size } from '../../src/model/call.ts';
import type { PictureShape, SourceFrame } from '../../src/model/media/picture.ts';
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
import { issueCall } from '../support/call-actions.ts';
import { MediaPeer } from '../support/media-peer.ts';
import { PictureStream } from '../support/picture-stream.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';
import {
  audioFormats,
  audioFrame,
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
const messageBytesMax = 1024 * 1024;

let server: TestServer;
before(async () => {
  server = await startTestServer({ media: 'child', overrides: [`media.bridge_keys=${developmentKey}`] });
});
after(() => server.stop());

/** A frame of a bridge; its header has the size of the picture, unless given otherwise. */
function video(
  { format, payload }: Pick<SourceFrame, 'format' | 'payload'>,
  timestamp: number,
  header: Partial<WireHeader> = portrait,
): Buffer {
  return wireFrame({ format: videoFormats[format], timestamp, ...header }, payload);
}

/** The nth picture, after its header was compared with that of the JPEG. */
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

/** Expected pictures: the frames, transcoded by the codec alone. */
function picturesOf(engine: Engine, frames: readonly SourceFrame[], shape: PictureShape): Buffer[] {
  const transcoder = new FrameTranscoder(engine, {
    maxFps: 15,
    quality: 80,
    sourceMax: { width: 1920, height: 1080 },
  });
  try {
    return frames.map((frame) => Buffer.from(onlyPicture(transcoder, frame, shape).bytes));
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

engineTest('every second frame of 30 a second is shown, and all are decoded', async (engine, t) => {
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
});

engineTest(
  'after a corrupt frame a key frame is requested, and its picture is correct',
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
    await pictureOf(device, 3);
    for (const [index, frame] of [fourth, key, ...last].entries()) {
      bridge.send(frame);
      await pictureOf(device, 4 + index);
    }
    assert.deepEqual(timestampsOf(device.frames), [0, 100, 200, 300, 400, 500, 600]);
    const expected = picturesOf(engine, film, fitScreen);
    const shown = device.frames.map((frame) => readWireFrame(frame).payload);
    for (const index of [0, 1, 4, 5, 6]) assert.deepEqual(shown[index], expected[index]);
  },
);

function coded(engine: Engine, timestamp: number): Buffer {
  const [key] = h264Film(engine, portrait, 1);
  return wireFrame({ timestamp, flags: 1, ...portrait }, key?.payload ?? Buffer.of());
}

function jpeg(engine: Engine, timestamp: number): Buffer {
  const [picture] = jpegFilm(engine, portrait, 1);
  return wireFrame({ format: videoFormats.mjpeg, timestamp }, picture?.payload ?? Buffer.of());
}

function planar(timestamp: number): Buffer {
  return wireFrame({ format: videoFormats.i420, timestamp, ...portrait }, planarFrame(portrait).payload);
}

function shownSize(picture: Uint8Array): string {
  const { width, height } = jpegStructure(picture);
  return `${width}x${height}`;
}

test('data of a device reaches the bridge unchanged and in order', async (t) => {
  const { device, bridge } = await placeWireCall(t, server);
  const sent: Buffer[] = [];
  for (const format of Object.values(videoFormats))
    for (const flags of [0, 1])
      sent.push(
        wireFrame({ format, flags, width: 65_535, height: 7, timestamp: 2 ** 32 - 1 }, Buffer.from([format])),
      );
  for (const format of Object.values(audioFormats)) sent.push(audioFrame(17, 'spoken', format));
  sent.push(wireFrame({ flags: 1 }, Buffer.alloc(messageBytesMax - 12, 3)));
  for (const [index, message] of sent.entries()) {
    device.send(message);
    await bridge.framesCome(index + 1);
  }
  assert.deepEqual(bridge.frames, sent);
});

test('audio in the format of the device reaches it unchanged, with and without video', async (t) => {
  const silent = { no_video: true, down_video_mt: '', video_res_mode: 'auto' };
  for (const [change, format] of [
    [{}, audioFormats.alaw],
    [{ ...silent, down_audio_mt: 'amr' }, audioFormats.amr],
    [{ ...silent, down_audio_mt: 'opus' }, audioFormats.opus],
  ] as const) {
    const { device, bridge } = await placeWireCall(t, server, change);
    const sent = [0, 20, 20, 0].map((timestamp) => audioFrame(timestamp, 'heard', format));
    for (const [index, message] of sent.entries()) {
      bridge.send(message);
      await device.framesCome(index + 1);
    }
    assert.deepEqual(device.frames, sent);
  }
});

engineTest('a device with H.264 receives it unchanged', async (engine, t) => {
  const { device, bridge } = await placeWireCall(t, server, {
    down_video_mt: 'h264',
    video_res_mode: 'auto',
  });
  const [first, last] = [
    coded(engine, 1),
    wireFrame({ timestamp: 4, width: 9 }, Buffer.from('\0\0\x01\x41 no picture')),
  ];
  for (const message of [first, last]) bridge.send(message);
  await device.framesCome(2);
  assert.deepEqual(device.frames, [first, last]);
});

engineTest(
  'frames before both legs are connected are lost, and a late device causes a request for a key frame',
  async (engine, t) => {
    const { session, token } = await issueCall(server, { msg_room_id: 'late' });
    const port = server.ports.media;
    const path = `/media/v1/bridge?session=${session}`;
    const bridge = await MediaPeer.connect(port, { path, bearer: developmentKey });
    t.after(() => bridge.send('{"type":"state","state":"ended"}'));
    await textOf(bridge, 'start');
    const film = h264Film(engine, portrait, 5, [0, 3]);
    const messages = film.map(({ payload }, index) => wireFrame({ timestamp: index * 100 }, payload));
    const [first, second, third, key, last] = messages;
    assert(first && second && third && key && last);
    bridge.send(first);
    bridge.send(second);
    await bridge.ping();
    const device = await MediaPeer.connect(port, { bearer: token });
    await device.ping();
    bridge.send(third);
    await textOf(bridge, 'key_frame_wanted');
    bridge.send(key);
    bridge.send(last);
    await device.framesCome(2);
    assert.deepEqual(timestampsOf(device.frames), [300, 400]);
    device.socket.terminate();
  },
);

test('a device without WebSocket reads the pictures over HTTP, and replaces the other leg', async (t) => {
  const { token, device, bridge } = await placeWireCall(t, server);
  const stream = await PictureStream.open(server.ports.media, { bearer: token });
  assert.equal(await device.closed, '4409 replaced');
  bridge.send(planar(0));
  await stream.picturesCome(1);
  assert.equal(shownSize(stream.pictures[0] ?? Buffer.of()), '74x100');
  bridge.send('{"type":"state","state":"ended"}');
  await stream.closed;
  assert.equal(stream.isWhole, true);
});

engineTest(
  'a device that does not read does not block others, and then receives the newest picture',
  async (engine, t) => {
    const { device, bridge } = await placeWireCall(t, server, { video_res_mode: 'auto' });
    device.socket.pause();
    const large = Buffer.concat([jpeg(engine, 0), Buffer.alloc(200_000)]);
    const frames = 150;
    for (let index = 1; index <= frames; index += 1) {
      large.writeUInt32BE(index, 8);
      bridge.send(Buffer.from(large));
      if (index % 10 === 0) {
        device.send(audioFrame(index, 'up'));
        await bridge.framesCome(index / 10);
      }
    }
    bridge.send(audioFrame(0, 'down'));
    await bridge.ping();
    device.socket.resume();
    while (timestampsOf(device.frames).at(-1) !== frames) await device.framesCome(device.frames.length + 1);
    const shown = timestampsOf(device.frames.filter((frame) => frame[0] === 1));
    assert(shown.length < frames, `${shown.length} of ${frames}`);
    assert.deepEqual(
      shown,
      shown.toSorted((one, other) => one - other),
    );
    assert.equal(shown.at(-2), frames - 1, 'of those that waited the last two are there');
  },
);

test('calls that end in the middle of frames end in order, and leave no leg', async () => {
  for (let round = 0; round < 30; round += 1) {
    const { session, token } = await issueCall(server, { msg_room_id: `round-${round}` });
    const path = `/media/v1/bridge?session=${session}`;
    const [device, bridge] = await Promise.all([
      MediaPeer.connect(server.ports.media, { bearer: token }),
      MediaPeer.connect(server.ports.media, { path, bearer: developmentKey }),
    ]);
    await textOf(bridge, 'start');
    for (let frame = 0; frame < 5; frame += 1) bridge.send(planar(frame * 100));
    bridge.send('{"type":"state","state":"ended"}');
    assert.deepEqual(await Promise.all([device.closed, bridge.closed]), ['1000 ended', '1000 ended']);
  }
  for (;;) {
    const text = await metricsOf(server);
    const legs = ['device', 'bridge', 'viewer'].map((leg) =>
      metric(text, `reveille_media_legs{leg="${leg}"}`),
    );
    if (legs.every((count) => count === 0)) break;
  }
  assert.equal(metric(await metricsOf(server), 'reveille_media_up'), 1);
});

engineTest('frames are counted by result, together with rebuilds and times', async (_engine, t) => {
  const { device, bridge } = await placeWireCall(t, server);
  for (const [index, size] of [portrait, { width: 320, height: 240 }].entries()) {
    bridge.send(video(planarFrame(size), index * 100, size));
    await pictureOf(device, index + 1);
  }
  const names = [
    'reveille_media_frames_total{result="encoded"}',
    'reveille_media_frames_total{result="passed"}',
    'reveille_media_rebuilds_total',
    'reveille_media_frame_seconds_count',
  ];
  // The media process reports its counts periodically.
  let text = '';
  do text = await metricsOf(server);
  while (names.some((name) => !((metric(text, name) ?? 0) > 0)));
});
