/** Viewers over WebRTC: the source untouched, and the video that the device is shown. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { h264Media, RelayScene } from '../../../support/relay-scene.ts';

test('a live viewer has H.264 untouched, and the very picture that the device is shown', async () => {
  const scene = new RelayScene();
  const [bridge, device, viewer] = [scene.bridge(), scene.device(), scene.liveViewer()];
  bridge.video('h264', 'key', true, 7);
  assert.deepEqual(viewer.source.texts, ['key'], 'it waits for no decoder');
  await scene.transcoder.answer();
  assert.deepEqual(viewer.output.messages, device.messages);
  assert.deepEqual(viewer.output.texts, ['fit_screen of key']);
  assert.equal(scene.transcoder.taken[0]?.shapes.length, 1, 'it is made once');
  assert.deepEqual(scene.counts, { encoded: 1 });
});

test('an output of H.264 is sent once: as the source if they are the same, encoded if not', async () => {
  const scene = new RelayScene(h264Media);
  const [bridge, device, viewer] = [scene.bridge(), scene.device(), scene.liveViewer()];
  bridge.video('h264', 'key', true);
  device.readAll();
  viewer.source.readAll();
  assert.deepEqual([viewer.source.texts, viewer.output.texts], [['key'], []]);
  assert.deepEqual(scene.transcoders.needs, [], 'nothing is made');
  bridge.video('mjpeg', 'picture', true);
  await scene.transcoder.answer();
  assert.deepEqual(viewer.source.texts, ['key', 'picture']);
  assert.deepEqual(viewer.output.texts, ['h264 key of picture']);
});

test('a live viewer is one viewer, and leaves with all its receivers', () => {
  const scene = new RelayScene(h264Media);
  const bridge = scene.bridge();
  const viewer = scene.liveViewer();
  assert.equal(scene.relay.view(scene.sessionId)?.viewers, 1);
  bridge.video('mjpeg', 'picture', true);
  assert.equal(scene.transcoders.live.length, 1);
  viewer.source.leave();
  viewer.source.leave();
  assert.deepEqual([scene.relay.view(scene.sessionId)?.viewers, scene.transcoders.live.length], [0, 0]);
  bridge.leave();
  assert.equal(scene.relay.sessionCount, 0);
});

test('pictures of the device’s camera are made for a live viewer that accepts them, and the bridge has the untouched video', async () => {
  const scene = new RelayScene(h264Media);
  const [bridge, device, viewer] = [scene.bridge(), scene.device(), scene.liveViewer()];
  device.video('h264', 'first', true);
  assert.deepEqual(scene.transcoders.needs, [], 'nothing is made for a viewer that takes none');
  viewer.acceptCamera();
  device.video('h264', 'key', true);
  await scene.transcoder.answer();
  assert.deepEqual(viewer.camera.texts, ['auto of key']);
  bridge.readAll();
  assert.deepEqual(bridge.texts, ['first', 'key']);
  device.video('mjpeg', 'picture', true);
  viewer.camera.readAll();
  assert.deepEqual(viewer.camera.texts, ['auto of key', 'picture']);
  bridge.readAll();
  assert.deepEqual(scene.counts, { passed: 3 }, 'each frame is counted once, for the bridge');
  assert.equal(scene.relay.view(scene.sessionId)?.camera?.format, 'mjpeg');
  assert.deepEqual(viewer.source.texts, [], 'it is not the picture of the phone');
  viewer.source.leave();
  assert.deepEqual(scene.transcoders.live, []);
});

test('load refuses no live viewer: it has the video that needs no worker', () => {
  const scene = new RelayScene(h264Media);
  const bridge = scene.bridge();
  scene.transcoders.refusal = 'load';
  const viewer = scene.liveViewer();
  bridge.video('h264', 'key', true);
  assert.deepEqual(viewer.source.texts, ['key']);
});

test('a key frame is requested when a live viewer joins or needs one, at most every 500 ms', () => {
  const scene = new RelayScene();
  const bridge = scene.bridge();
  scene.device();
  bridge.video('h264', 'key', true);
  const viewer = scene.liveViewer();
  assert.equal(bridge.keyFramesAsked, 1);
  bridge.video('h264', 'next key', true);
  for (let lost = 0; lost < 100; lost++) viewer.source.leg.wantKeyFrame();
  scene.clock.advance(499);
  assert.equal(bridge.keyFramesAsked, 1, 'too soon');
  scene.clock.advance(1);
  assert.equal(bridge.keyFramesAsked, 2);
  viewer.source.leave();
  scene.clock.advance(500);
  viewer.source.leg.wantKeyFrame();
  assert.equal(bridge.keyFramesAsked, 2, 'it has left');
});

test('a live viewer that does not read loses frames itself, and the device none', async () => {
  const scene = new RelayScene();
  const [bridge, device, viewer] = [scene.bridge(), scene.device(), scene.liveViewer()];
  for (let frame = 0; frame < 100; frame++) {
    bridge.video('h264', `${frame}`, frame === 0, frame * 100);
    await scene.transcoder.answer();
    device.read();
  }
  assert.equal(device.texts.length, 100);
  assert.deepEqual([viewer.source.texts, viewer.output.texts], [['0'], ['fit_screen of 0']]);
  assert.deepEqual(scene.counts, { encoded: 100 });
});
