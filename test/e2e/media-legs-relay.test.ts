/**
 * Calls whose frames go from leg to leg over real sockets and the relay of the server, with transcoders that the test
 * answers for. Source: calls-and-media.md, Legs and Resolution.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { afterEach, beforeEach, test } from 'node:test';
import type { CallMedia } from '../../src/model/call.ts';
import { mediaMessageBytesMax, picturesWaitingMax } from '../../src/model/limits.ts';
import { MediaListener } from '../../src/media/legs/listener.ts';
import { mediaLegsDefaults } from '../support/listener-defaults.ts';
import {
  encodeFrameHeader,
  type FrameHeader,
  type VideoFrameHeader,
} from '../../src/protocol/media/frame-header.ts';
import { Relay } from '../../src/media/relay/relay.ts';
import { callMedia, callRoom } from '../support/call-scene.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import { FakeLegService } from '../support/fake-leg-service.ts';
import { FakeTranscoders, type FakeTranscoder } from '../support/fake-transcoders.ts';
import { FakeLog, FakeTelemetry } from '../support/fakes.ts';
import { bridgePath, MediaPeer } from '../support/media-peer.ts';
import { PictureStream, type PictureRequest } from '../support/picture-stream.ts';

const h264Media: CallMedia = { ...callMedia, downVideo: 'h264', resolution: 'auto' };
const autoMedia: CallMedia = { ...callMedia, resolution: 'auto' };

let clock: DrivenClock;
let service: FakeLegService;
let relay: Relay;
let transcoders: FakeTranscoders;
let telemetry: FakeTelemetry;
let listener: MediaListener;
let port: number;
const peers: { terminate(): void }[] = [];

beforeEach(async () => {
  clock = new DrivenClock();
  service = new FakeLegService();
  telemetry = new FakeTelemetry();
  transcoders = new FakeTranscoders();
  relay = new Relay({ clock, transcoders, telemetry, maxFps: 15 });
  listener = new MediaListener(
    { ...mediaLegsDefaults, port: 0 },
    { clock, service, relay, telemetry, log: new FakeLog(), otherSockets: () => 0 },
  );
  await listener.listen();
  ({ port } = listener.address);
});

afterEach(() => {
  listener.close();
  for (const peer of peers.splice(0)) peer.terminate();
});

async function connectDevice(media: CallMedia): Promise<MediaPeer> {
  giveMedia(media);
  const device = await MediaPeer.connect(port);
  peers.push(device.socket);
  return device;
}

function giveMedia(media: CallMedia): void {
  const admission = service.devices.get('good-token');
  assert(admission !== undefined);
  service.devices.set('good-token', { ...admission, media });
}

/** A bridge that was told to start. */
async function connectBridge(media: CallMedia): Promise<MediaPeer> {
  const count = service.legs.length + 1;
  const bridge = await MediaPeer.connect(port, { path: bridgePath, bearer: 'good-key' });
  peers.push(bridge.socket);
  const { leg } = await service.leg(count);
  leg.notify({ kind: 'start', sessionId: service.sessionId, room: callRoom, media, request: null });
  assert.match((await bridge.nextText()) ?? '', /"type":"start"/);
  return bridge;
}

async function watch(query = ''): Promise<PictureStream> {
  const request: PictureRequest = query === '' ? {} : { query, bearer: null };
  const stream = await PictureStream.open(port, request);
  peers.push({ terminate: () => stream.hangUp() });
  return stream;
}

/** Turns the event loop until it is so. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((turned) => setImmediate(turned));
}

/** Answers for the next frame that comes to the transcoder of the call. */
async function answerNext(): Promise<FakeTranscoder> {
  const [transcoder] = transcoders.live;
  assert(transcoder !== undefined);
  await until(() => transcoder.isWorking);
  await transcoder.answer();
  return transcoder;
}

function message(header: FrameHeader, payload: string | Buffer): Buffer {
  return Buffer.concat([encodeFrameHeader(header), Buffer.from(payload)]);
}

function video(timestampMs: number, change: Partial<VideoFrameHeader> = {}): VideoFrameHeader {
  return { kind: 'video', format: 'h264', isKeyFrame: true, width: 640, height: 480, timestampMs, ...change };
}

const keySlice = Buffer.from('0000000165880084', 'hex');
const otherSlice = Buffer.from('00000001419a0102', 'hex');
/** The longest that a leg may send. */
const largest = Buffer.alloc(mediaMessageBytesMax - 12, 0x9a);
otherSlice.copy(largest);

test('H.264 goes to and fro untouched where the device takes it, whatever its flags say', async () => {
  const [device, bridge] = [await connectDevice(h264Media), await connectBridge(h264Media)];
  const frames = [
    message(video(0), keySlice),
    message(video(66, { isKeyFrame: false, width: 0, height: 0 }), otherSlice),
    message(video(0xffff_ffff, { isKeyFrame: false }), largest),
  ];
  for (const [from, to] of [
    [bridge, device],
    [device, bridge],
  ] as const) {
    for (const frame of frames) from.send(frame);
    await to.framesCome(frames.length);
    assert.deepEqual(to.frames, frames);
  }
  assert.equal(telemetry.count('media frame passed'), 6);
  assert.deepEqual(transcoders.opened, []);
});

test('audio goes to and fro untouched, in any format', async () => {
  const [device, bridge] = [await connectDevice(callMedia), await connectBridge(callMedia)];
  const packets = (['alaw', 'amr', 'opus', 'pcm'] as const).map((format, i) =>
    message({ kind: 'audio', format, timestampMs: i * 20 }, `packet ${i}`),
  );
  for (const [from, to] of [
    [bridge, device],
    [device, bridge],
  ] as const) {
    for (const packet of packets) from.send(packet);
    await to.framesCome(packets.length);
    assert.deepEqual(to.frames, packets);
  }
  assert.equal(telemetry.count('media frame audio'), 8);
});

test('a device that takes pictures is sent each with a header of its own, and who watches sees it too', async () => {
  const device = await connectDevice(callMedia);
  const [output, source] = [await watch('?ticket=good-ticket'), await watchSource()];
  const bridge = await connectBridge(callMedia);
  bridge.send(message(video(1234), keySlice));
  const { taken } = await answerNext();
  await Promise.all([device.framesCome(1), output.picturesCome(1), source.picturesCome(1)]);
  const fitted = `fit_screen of ${keySlice.toString()}`;
  const header = video(1234, { format: 'mjpeg', width: 160, height: 100 });
  assert.deepEqual(device.frames, [message(header, fitted)]);
  assert.deepEqual([output.pictures, source.pictures].map(String), [
    fitted,
    `auto of ${keySlice.toString()}`,
  ]);
  assert.equal(taken.length, 1);
});

function watchSource(): Promise<PictureStream> {
  service.tickets.set('another-ticket', { sessionId: service.sessionId });
  return watch('?ticket=another-ticket&picture=source');
}

test('a device without WebSocket is shown pictures, be its format H.264', async () => {
  giveMedia(h264Media);
  const device = await watch();
  const bridge = await connectBridge(h264Media);
  bridge.send(message(video(0), keySlice));
  await answerNext();
  await device.picturesCome(1);
  assert.deepEqual(device.pictures.map(String), [`auto of ${keySlice.toString()}`]);
});

test('a device that takes the place of another has the frames from then on', async () => {
  const first = await connectDevice(h264Media);
  const bridge = await connectBridge(h264Media);
  const second = await connectDevice(h264Media);
  (await service.leg(1)).leg.close('replaced');
  assert.equal(await first.closed, '4409 replaced');
  bridge.send(message(video(0), keySlice));
  await second.framesCome(1);
  assert.deepEqual([first.frames.length, second.frames.length], [0, 1]);
});

/** More of the largest frames than any kernel keeps for a peer that does not read. */
const framesBeyondBuffers = 64;

test('a device that stands still never slows the bridge, and sees the newest pictures when it reads again', async () => {
  const [device, bridge] = [await connectDevice(autoMedia), await connectBridge(autoMedia)];
  device.socket.pause();
  const frames = Array.from({ length: framesBeyondBuffers }, (_, i) =>
    message(video(i * 66, { format: 'mjpeg' }), largest),
  );
  for (const frame of frames) {
    bridge.send(frame);
    await bridge.ping();
    clock.advance(66);
  }
  const dropped = telemetry.count('media frame slow_leg');
  assert.ok(dropped > 0);
  device.socket.resume();
  await device.framesCome(framesBeyondBuffers - dropped);
  const newest = frames.slice(-picturesWaitingMax);
  assert.ok(device.frames.slice(-picturesWaitingMax).every((frame, i) => newest[i]?.equals(frame)));
  assert.equal(telemetry.count('media frame passed'), framesBeyondBuffers - dropped);
  assert.deepEqual(
    service.legs.map(({ goneTimes }) => goneTimes),
    [0, 0],
  );
});

for (const slow of ['device', 'bridge'] as const)
  test(`coded video that a slow ${slow} does not take goes up to the next key frame, which is asked for`, async () => {
    const [device, bridge] = [await connectDevice(h264Media), await connectBridge(h264Media)];
    const [reader, sender] = slow === 'device' ? [device, bridge] : [bridge, device];
    reader.socket.pause();
    const frame = (i: number): Buffer => message(video(i, { isKeyFrame: i === 0 }), largest);
    let sent = 0;
    while (telemetry.count('media frame slow_leg') === 0) {
      sender.send(frame(sent++));
      await sender.ping();
      clock.advance(66);
    }
    assert.equal(await sender.nextText(), '{"type":"key_frame_wanted"}');
    reader.socket.resume();
    const passed = telemetry.count('media frame passed');
    await reader.framesCome(passed);
    sender.send(message(video(98, { isKeyFrame: false }), otherSlice));
    sender.send(message(video(99), keySlice));
    await reader.framesCome(passed + 1);
    assert.ok(reader.frames.slice(0, passed).every((one, i) => one.equals(frame(i))));
    assert.deepEqual(reader.frames.slice(passed), [message(video(99), keySlice)]);
    assert.equal(telemetry.count('media frame no_key_frame'), 1);
  });

test('a bridge whose first frame needs another one is asked for a key frame', async () => {
  await connectDevice(callMedia);
  const bridge = await connectBridge(callMedia);
  bridge.send(message(video(0, { isKeyFrame: false }), otherSlice));
  assert.equal(await bridge.nextText(), '{"type":"key_frame_wanted"}');
});

test('a call that no worker has time for keeps its device out, and the next one is let in', async () => {
  transcoders.refusal = 'load';
  await assert.rejects(connectDevice(callMedia), { status: 503 });
  const bridge = await MediaPeer.connect(port, { path: bridgePath, bearer: 'good-key' });
  peers.push(bridge.socket);
  const { leg } = await service.leg();
  leg.notify({
    kind: 'start',
    sessionId: service.sessionId,
    room: callRoom,
    media: callMedia,
    request: null,
  });
  assert.equal(await bridge.closed, '4503 media_full');
  assert.equal(telemetry.count('media login load'), 1);
  await connectDevice(h264Media);
  assert.equal(relay.sessionCount, 1);
});

test('when its legs have gone nothing of a session is left', async () => {
  const [device, bridge] = [await connectDevice(callMedia), await connectBridge(callMedia)];
  const viewer = await watch('?ticket=good-ticket');
  assert.equal(relay.sessionCount, 1);
  device.socket.close();
  bridge.socket.close();
  viewer.hangUp();
  await Promise.all([device.closed, bridge.closed, once(viewer.answer, 'close')]);
  await until(() => listener.socketCount === 0);
  assert.deepEqual([relay.sessionCount, transcoders.live], [0, []]);
});

test('a device that nobody can make pictures for is refused before it takes the place of the one that is there', async () => {
  const device = await connectDevice(h264Media);
  transcoders.refusal = 'engine';
  await assert.rejects(PictureStream.open(port), /no pictures: 503/);
  const bridge = await connectBridge(h264Media);
  bridge.send(message(video(0), keySlice));
  await device.framesCome(1);
  assert.equal(service.legs.length, 2, 'the device and the bridge');
});
