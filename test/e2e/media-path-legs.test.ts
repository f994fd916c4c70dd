/**
 * The legs of calls at a whole server and its media process: what passes untouched, who comes and goes, and who is slow.
 * Source: calls-and-media.md, Legs.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Engine } from '../../src/media/codec/engine.ts';
import { metric, metricsOf, opsOf } from '../support/driven-server.ts';
import { h264Film, jpegFilm, planarFrame } from '../support/coded-frames.ts';
import { issueCall } from '../support/call-actions.ts';
import { engineTest } from '../support/engine-test.ts';
import { jpegStructure } from '../support/jpeg-structure.ts';
import { MediaPeer, MediaRefused } from '../support/media-peer.ts';
import { PictureStream } from '../support/picture-stream.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';
import {
  audioFormats,
  audioFrame,
  developmentKey,
  placeWireCall,
  textOf,
  timestampsOf,
  videoFormats,
  wireFrame,
} from '../support/wire-call.ts';

const portrait = { width: 240, height: 320 };
const messageBytesMax = 1024 * 1024;

let server: TestServer;
before(async () => {
  server = await startTestServer({ media: 'child', overrides: [`media.bridge_keys=${developmentKey}`] });
});
after(() => server.stop());

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

function sizeOf(picture: Uint8Array): string {
  const { width, height } = jpegStructure(picture);
  return `${width}x${height}`;
}

/** A picture that is shown now is made of what comes now. */
async function flows(
  { device, bridge }: { device: MediaPeer; bridge: MediaPeer },
  timestamp: number,
): Promise<void> {
  bridge.send(planar(timestamp));
  while (timestampsOf(device.frames).at(-1) !== timestamp) await device.framesCome(device.frames.length + 1);
}

test('what a device sends comes to the bridge byte by byte, and in its order', async (t) => {
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

test('audio of a bridge comes to the device byte by byte, with video and without', async (t) => {
  const silent = { no_video: true, down_video_mt: '', video_res_mode: 'auto' };
  for (const change of [{}, silent]) {
    const { device, bridge } = await placeWireCall(t, server, change);
    const sent = Object.values(audioFormats).map((format, index) => audioFrame(index * 20, 'heard', format));
    for (const [index, message] of sent.entries()) {
      bridge.send(message);
      await device.framesCome(index + 1);
    }
    assert.deepEqual(device.frames, sent);
  }
});

engineTest('a device of H.264 is passed it byte by byte, and is sent nothing else', async (engine, t) => {
  const { device, bridge } = await placeWireCall(t, server, {
    down_video_mt: 'h264',
    video_res_mode: 'auto',
  });
  const [first, last] = [
    coded(engine, 1),
    wireFrame({ timestamp: 4, width: 9 }, Buffer.from('\0\0\x01\x41 no picture')),
  ];
  for (const message of [first, jpeg(engine, 2), planar(3), last]) bridge.send(message);
  await device.framesCome(2);
  assert.deepEqual(device.frames, [first, last]);
});

test('a message over 1 MiB closes its leg, and the call has room for it again', async (t) => {
  const { device, bridge, connectDevice } = await placeWireCall(t, server);
  device.send(Buffer.alloc(messageBytesMax + 1));
  assert.match(await device.closed, /^1009/);
  const again = await connectDevice();
  again.send(audioFrame(0, 'still there'));
  await bridge.framesCome(1);
  again.socket.terminate();
});

engineTest(
  'frames before both legs are there are lost, and a late device makes a key frame be asked for',
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

test('a second device takes the place of the first, and a second bridge too', async (t) => {
  const { device, bridge, connectDevice, connectBridge } = await placeWireCall(t, server);
  await flows({ device, bridge }, 0);
  const secondDevice = await connectDevice();
  assert.equal(await device.closed, '4409 replaced');
  await flows({ device: secondDevice, bridge }, 100);
  const secondBridge = await connectBridge();
  assert.equal(await bridge.closed, '4409 replaced');
  await flows({ device: secondDevice, bridge: secondBridge }, 200);
  secondDevice.send(audioFrame(0, 'up'));
  await secondBridge.framesCome(1);
  assert.equal(device.frames.length, 1, 'the first one is sent nothing more');
  for (const leg of [secondDevice, secondBridge]) leg.socket.terminate();
});

test('two people watch what is shown and what was sent, each once by a ticket, and replace nobody', async (t) => {
  const { session, device, bridge } = await placeWireCall(t, server);
  const ticket = async (): Promise<string> => {
    const { url } = await opsOf(server).change<{ url: string }>('/v1/calls/ticket', { session });
    return new URL(url).search;
  };
  const watch = (query: string): Promise<PictureStream> =>
    PictureStream.open(server.ports.media, { query, bearer: null });
  const used = await ticket();
  const output = await watch(used);
  const source = await watch(`${await ticket()}&picture=source`);
  await assert.rejects(watch(used), /no pictures: 401/);
  await assert.rejects(watch(await ticket()), /no pictures: 409/);
  await flows({ device, bridge }, 0);
  await Promise.all([output.picturesCome(1), source.picturesCome(1)]);
  assert.deepEqual(
    [output, source].map(({ pictures: [first] }) => sizeOf(first ?? Buffer.of())),
    ['74x100', '240x320'],
  );
  output.hangUp();
  source.hangUp();
});

test('a device without WebSocket reads the pictures over HTTP, and takes the place of the other', async (t) => {
  const { token, device, bridge } = await placeWireCall(t, server);
  const stream = await PictureStream.open(server.ports.media, { bearer: token });
  assert.equal(await device.closed, '4409 replaced');
  bridge.send(planar(0));
  await stream.picturesCome(1);
  assert.equal(sizeOf(stream.pictures[0] ?? Buffer.of()), '74x100');
  bridge.send('{"type":"state","state":"ended"}');
  await stream.closed;
  assert.equal(stream.isWhole, true);
});

engineTest('a device that does not read holds up nobody, and then has the newest', async (engine, t) => {
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
});

test('a token of nobody, a key of nobody and a session of nobody are refused', async () => {
  const port = server.ports.media;
  const statusOf = async (connecting: Promise<unknown>): Promise<number> => {
    const error = await connecting.then(
      () => null,
      (failure: unknown) => failure,
    );
    return error instanceof MediaRefused ? error.status : 0;
  };
  const path = '/media/v1/bridge?session=nobody';
  assert.equal(await statusOf(MediaPeer.connect(port, { bearer: 'no.token' })), 401);
  assert.equal(await statusOf(MediaPeer.connect(port, { path, bearer: 'no key' })), 401);
  assert.equal(await statusOf(MediaPeer.connect(port, { path, bearer: developmentKey })), 404);
});

test('calls that end in the middle of their frames end in order, and no leg of them stays', async () => {
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
