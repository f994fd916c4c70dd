/**
 * Calls whose frames go from leg to leg over real sockets and the relay of the server, with transcoders that the test
 * answers for. Source: calls-and-media.md, Legs and Resolution.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { afterEach, beforeEach, test } from 'node:test';
import type { CallMedia } from '../../src/model/call.ts';
import { mediaMessageBytesMax, picturesWaitingMax } from '../../src/model/limits.ts';
import { encodeFrameHeader, type VideoFrameHeader } from '../../src/protocol/media/frame-header.ts';
import { Relay } from '../../src/media/relay/relay.ts';
import { callMedia, callRoom } from '../support/call-scene.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import type { FakeLegService } from '../support/fake-leg-service.ts';
import { FakeTranscoders, type FakeTranscoder } from '../support/fake-transcoders.ts';
import { FakeTelemetry } from '../support/fakes.ts';
import { until } from '../support/event-loop.ts';
import { MediaListenerScene } from '../support/media-listener-scene.ts';
import type { MediaPeer } from '../support/media-peer.ts';
import type { PictureStream } from '../support/picture-stream.ts';
import { autoMedia, h264Media } from '../support/relay-scene.ts';

let scene: MediaListenerScene<Relay>;
let clock: DrivenClock;
let service: FakeLegService;
let relay: Relay;
let transcoders: FakeTranscoders;
let telemetry: FakeTelemetry;

beforeEach(async () => {
  [clock, telemetry, transcoders] = [new DrivenClock(), new FakeTelemetry(), new FakeTranscoders()];
  relay = new Relay({ clock, transcoders, telemetry, maxFps: 15 });
  scene = new MediaListenerScene(relay, clock, telemetry);
  ({ service } = scene);
  await scene.listen();
});
afterEach(() => scene.close());

function connectDevice(media: CallMedia): Promise<MediaPeer> {
  giveMedia(media);
  return scene.connect();
}

function giveMedia(media: CallMedia): void {
  const admission = service.devices.get('good-token');
  assert(admission !== undefined);
  service.devices.set('good-token', { ...admission, media });
}

function watchBy(ticket: string): Promise<PictureStream> {
  return scene.watch({ query: `?ticket=${ticket}`, bearer: null });
}

/** Answers for the next frame that comes to the transcoder of the call. */
async function answerNext(): Promise<FakeTranscoder> {
  const [transcoder] = transcoders.live;
  assert(transcoder !== undefined);
  await until(() => transcoder.isWorking);
  await transcoder.answer();
  return transcoder;
}

function message(header: VideoFrameHeader, payload: string | Buffer): Buffer {
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
  const [device, bridge] = [await connectDevice(h264Media), await scene.startBridge(h264Media)];
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

test('a device that takes pictures is sent each with a header of its own, and who watches sees it too', async () => {
  const device = await connectDevice(callMedia);
  const [output, source] = [await watchBy('good-ticket'), await watchSource()];
  const bridge = await scene.startBridge(callMedia);
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
  return watchBy('another-ticket&picture=source');
}

test('a device without WebSocket is shown pictures, be its format H.264', async () => {
  giveMedia(h264Media);
  const device = await scene.watch();
  const bridge = await scene.startBridge(h264Media);
  bridge.send(message(video(0), keySlice));
  await answerNext();
  await device.picturesCome(1);
  assert.deepEqual(device.pictures.map(String), [`auto of ${keySlice.toString()}`]);
});

/** More of the largest frames than any kernel keeps for a peer that does not read. */
const framesBeyondBuffers = 64;

test('a device that stands still never slows the bridge, and sees the newest pictures when it reads again', async () => {
  const [device, bridge] = [await connectDevice(autoMedia), await scene.startBridge(autoMedia)];
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
    const [device, bridge] = [await connectDevice(h264Media), await scene.startBridge(h264Media)];
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

test('a call that no worker has time for keeps its device out, and the next one is let in', async () => {
  transcoders.refusal = 'load';
  await assert.rejects(connectDevice(callMedia), { status: 503 });
  const bridge = await scene.connectBridge();
  const { leg } = await service.leg();
  const { sessionId } = service;
  leg.notify({ kind: 'start', sessionId, room: callRoom, media: callMedia, request: null });
  assert.equal(await bridge.closed, '4503 media_full');
  assert.equal(telemetry.count('media login load'), 1);
  await connectDevice(h264Media);
  assert.equal(relay.sessionCount, 1);
});

test('when its legs have gone nothing of a session is left', async () => {
  const [device, bridge] = [await connectDevice(callMedia), await scene.startBridge(callMedia)];
  const viewer = await watchBy('good-ticket');
  assert.equal(relay.sessionCount, 1);
  device.socket.close();
  bridge.socket.close();
  viewer.hangUp();
  await Promise.all([device.closed, bridge.closed, once(viewer.answer, 'close')]);
  await until(() => scene.listener.socketCount === 0);
  assert.deepEqual([relay.sessionCount, transcoders.live], [0, []]);
});

test('a device that nobody can make pictures for is refused before it takes the place of the one that is there', async () => {
  const device = await connectDevice(h264Media);
  transcoders.refusal = 'engine';
  await assert.rejects(scene.watch(), /no pictures: 503/);
  const bridge = await scene.startBridge(h264Media);
  bridge.send(message(video(0), keySlice));
  await device.framesCome(1);
  assert.equal(service.legs.length, 2, 'the device and the bridge');
});
