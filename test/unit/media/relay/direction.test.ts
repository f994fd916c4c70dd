import { test } from 'node:test';
import assert from 'node:assert/strict';
import { audioOnlyMedia } from '../../../support/call-scene.ts';
import { autoMedia, fillMedia, h264Media, RelayScene } from '../../../support/relay-scene.ts';
import { encodeFrameHeader } from '../../../../src/protocol/media/frame-header.ts';

test('a frame becomes a picture for the screen, with the timestamp of its source', async () => {
  const scene = new RelayScene();
  const [bridge, device] = [scene.bridge(), scene.device()];
  bridge.video('mjpeg', 'frame', true, 0xfffffffe);
  scene.clock.advance(12);
  await scene.transcoder.answer({ rebuilds: 2 });
  assert.deepEqual(device.messages, [
    {
      header: {
        kind: 'video',
        format: 'mjpeg',
        isKeyFrame: true,
        width: 160,
        height: 100,
        timestampMs: 0xfffffffe,
      },
      headerHex: '0103000100a00064fffffffe',
      text: 'fit_screen of frame',
    },
  ]);
  assert.deepEqual(scene.counts, { encoded: 1 });
  assert.equal(scene.telemetry.count('media rebuild'), 2);
  assert.equal(scene.telemetry.count('media frame time'), 1);
  assert.deepEqual(scene.relay.view(scene.sessionId)?.frameMs, { p50: 12, p99: 12 });
});

test('the requested shape is that of the call', () => {
  const scene = new RelayScene(fillMedia);
  const bridge = scene.bridge();
  scene.device();
  bridge.video('i420', 'frame', true);
  const [taken] = scene.transcoder.taken;
  assert.deepEqual(taken?.shapes, [{ mode: 'fill_screen', screen: { width: 160, height: 100 } }]);
  assert.deepEqual(
    { ...taken?.frame, payload: null },
    { format: 'i420', isKeyFrame: true, width: 640, height: 480, payload: null },
  );
});

test('under auto MJPEG passes untouched, at any rate, and is not decoded', () => {
  const scene = new RelayScene(autoMedia);
  const [bridge, device] = [scene.bridge(), scene.device()];
  for (let at = 0; at < 200; at += 10) {
    bridge.video('mjpeg', `${at}`, false, at);
    device.read();
  }
  assert.equal(device.messages.length, 20);
  assert.equal(device.messages[0]?.headerHex, '01030000028001e000000000');
  assert.deepEqual(scene.transcoder.taken, []);
  assert.deepEqual(scene.counts, { passed: 20 });
});

test('under auto H.264 becomes pictures of its own size for an MJPEG device', async () => {
  const scene = new RelayScene(autoMedia);
  const [bridge, device] = [scene.bridge(), scene.device()];
  bridge.video('h264', 'key', true);
  await scene.transcoder.answer();
  assert.deepEqual(device.texts, ['auto of key']);
});

test('H.264 passes untouched to a device that accepts it; other sources are encoded as H.264', async () => {
  const scene = new RelayScene(h264Media);
  const [bridge, device] = [scene.bridge(), scene.device()];
  bridge.video('h264', 'a frame');
  assert.deepEqual(scene.transcoders.needs, []);
  bridge.video('mjpeg', 'a picture', true, 7);
  await scene.transcoder.answer();
  bridge.video('mjpeg', 'another', true, 100);
  await scene.transcoder.answer();
  device.readAll();
  assert.deepEqual(device.texts, ['a frame', 'h264 key of a picture', 'h264 of another']);
  assert.equal(device.messages[1]?.headerHex, '01010001028001e000000007');
  assert.equal(device.messages[2]?.headerHex, '01010000028001e000000064');
  assert.deepEqual(scene.counts, { passed: 1, encoded: 2 });
  assert.deepEqual(scene.transcoders.needs, [{ request: { width: 640, height: 480 }, maxFps: 15 }]);
});

test('a device that returns to untouched H.264 continues at a key frame, which the bridge is asked for', async () => {
  const scene = new RelayScene(h264Media);
  const [bridge, device] = [scene.bridge(), scene.device()];
  bridge.video('mjpeg', 'a picture', true);
  await scene.transcoder.answer();
  bridge.video('h264', 'builds on what the device has not');
  bridge.video('h264', 'key', true);
  device.readAll();
  assert.deepEqual(device.texts, ['h264 key of a picture', 'key']);
  assert.equal(bridge.keyFramesAsked, 1);
});

test('video refused for load is retried each second, and made as soon as a worker has room', async () => {
  const scene = new RelayScene(h264Media);
  const [bridge, device] = [scene.bridge(), scene.device()];
  scene.transcoders.refusal = 'load';
  for (let n = 0; n < 20; n++) {
    scene.clock.advance(100);
    bridge.video('mjpeg', `${n}`, true);
  }
  assert.equal(scene.transcoders.needs.length, 2);
  scene.transcoders.refusal = null;
  scene.clock.advance(1000);
  bridge.video('mjpeg', 'at last', true);
  await scene.transcoder.answer();
  assert.deepEqual(device.texts, ['h264 key of at last']);
  assert.deepEqual(scene.counts, { load: 20, encoded: 1 });
});

test('a bridge is notified once per wish why its uplink is not made', () => {
  const scene = new RelayScene(h264Media);
  const [bridge, device] = [scene.bridge(), scene.device()];
  const send = (): void => {
    scene.clock.advance(1000);
    device.video('mjpeg', 'a picture', true);
    device.audio('sound');
  };
  const pcm = { format: 'pcm', rate: 16_000, channels: 1 } as const;
  scene.transcoders.refusal = 'load';
  send();
  bridge.leg.wants({ audio: pcm, video: 'h264' });
  send();
  send();
  assert.deepEqual(bridge.goneWithout, ['video load', 'audio load']);
  scene.transcoders.refusal = 'engine';
  bridge.leg.wants({ audio: pcm, video: 'h264' });
  send();
  scene.transcoders.refusal = null;
  scene.transcoders.soundEncoders = ['alaw'];
  bridge.leg.wants({ audio: pcm, video: null });
  send();
  assert.deepEqual(bridge.goneWithout.slice(2), [
    'video unsupported',
    'audio unsupported',
    'audio unsupported',
  ]);
  assert.deepEqual(device.goneWithout, []);
});

test('a leg that does not keep up with H.264 made for it misses frames, and needs no key frame for it', async () => {
  const scene = new RelayScene(h264Media);
  const [bridge, device] = [scene.bridge(), scene.device()];
  for (let n = 0; n < 40; n++) {
    scene.clock.advance(100);
    bridge.video('mjpeg', `${n}`, true);
    if (scene.transcoder.isWorking) await scene.transcoder.answer();
  }
  device.readAll();
  scene.clock.advance(100);
  bridge.video('mjpeg', 'last', true);
  await scene.transcoder.answer();
  device.readAll();
  assert.deepEqual(device.texts, ['h264 key of 0', 'h264 of 1', 'h264 of 2', 'h264 of last']);
  assert.deepEqual(scene.counts, { encoded: 4, slow_leg: 37 });
});

test('a viewer that joined before the legs has pictures as soon as load permits', async () => {
  const scene = new RelayScene(h264Media);
  const viewer = scene.viewer('source');
  scene.transcoders.refusal = 'load';
  const [bridge, device] = [scene.bridge(), scene.device()];
  bridge.video('h264', 'key', true);
  scene.transcoders.refusal = null;
  scene.clock.advance(1000);
  bridge.video('h264', 'key 2', true);
  await scene.transcoder.answer();
  device.readAll();
  assert.deepEqual([device.texts, viewer.texts], [['key', 'key 2'], ['auto of key 2']]);
});

test('a call without video has none, whatever is sent', () => {
  const scene = new RelayScene(audioOnlyMedia);
  const [bridge, device] = [scene.bridge(), scene.device()];
  bridge.video('h264', 'a frame', true);
  bridge.audio('sound');
  assert.deepEqual(device.texts, ['sound']);
  assert.deepEqual(scene.counts, { unsupported: 1, audio: 1 });
});

test('a device at the MJPEG path has pictures of an H.264 call, and no sound', async () => {
  const scene = new RelayScene(h264Media);
  const [bridge, device] = [scene.bridge(), scene.device('pictures')];
  bridge.video('h264', 'key', true);
  bridge.audio('sound');
  await scene.transcoder.answer();
  assert.deepEqual(device.texts, ['auto of key']);
  assert.deepEqual(scene.counts, { encoded: 1, unsupported: 1 });
});

test('frames that arrive without a device are neither kept nor decoded', () => {
  const scene = new RelayScene();
  const bridge = scene.bridge();
  bridge.video('h264', 'key', true);
  bridge.video('mjpeg', 'picture', true);
  bridge.audio('sound');
  assert.deepEqual(scene.transcoder.taken, []);
  assert.deepEqual(scene.counts, { no_receiver: 3 });
});

test('a device that joins late makes the relay request a key frame, before which nothing is decoded', async () => {
  const scene = new RelayScene();
  const bridge = scene.bridge();
  bridge.video('h264', 'key', true);
  bridge.video('h264', '1');
  const device = scene.device();
  assert.equal(bridge.keyFramesAsked, 1);
  bridge.video('h264', '2');
  scene.clock.advance(100);
  bridge.video('h264', 'key 2', true);
  await scene.transcoder.answer();
  assert.deepEqual(device.texts, ['fit_screen of key 2']);
  assert.deepEqual(scene.counts, { no_receiver: 2, no_key_frame: 1, encoded: 1 });
});

test('a corrupt frame is counted, and a key frame requested from the bridge, again while none comes', async () => {
  const scene = new RelayScene();
  const [bridge] = [scene.bridge(), scene.device()];
  bridge.video('h264', 'key', true);
  await scene.transcoder.answer({ drop: 'undecodable', keyFrameWanted: true });
  assert.equal(bridge.keyFramesAsked, 1);
  for (let n = 0; n < 10; n++) {
    scene.clock.advance(100);
    bridge.video('h264', `${n}`);
    await scene.transcoder.answer({ drop: 'no_key_frame', keyFrameWanted: true });
  }
  assert.equal(bridge.keyFramesAsked, 3);
  scene.clock.advance(100);
  bridge.video('h264', 'key 2', true);
  await scene.transcoder.answer();
  scene.clock.advance(1000);
  bridge.video('h264', '11');
  assert.equal(bridge.keyFramesAsked, 3);
  assert.deepEqual(scene.counts, { undecodable: 1, no_key_frame: 10, encoded: 1 });
});

test('a bridge is notified once per cause why its frames are dropped, and one that replaces it again', async () => {
  const scene = new RelayScene();
  const [bridge] = [scene.bridge(), scene.device()];
  const dropped = async (from: typeof bridge, answer: Parameters<typeof scene.transcoder.answer>[0]) => {
    scene.clock.advance(100);
    from.video('mjpeg', 'frame', true);
    await scene.transcoder.answer(answer);
  };
  await dropped(bridge, {});
  for (const _ of [1, 2]) {
    await dropped(bridge, { drop: 'undecodable', cause: 'cut' });
    await dropped(bridge, { drop: 'undecodable' });
    await dropped(bridge, { pictures: ['too_small'] });
    await dropped(bridge, { drop: 'no_key_frame' });
    await dropped(bridge, { source: null, pictures: [] });
  }
  assert.deepEqual(bridge.dropCauses, ['cut', 'undecodable', 'too_small']);
  const next = scene.bridge();
  await dropped(next, { drop: 'undecodable', cause: 'cut' });
  assert.deepEqual([bridge.dropCauses.length, next.dropCauses], [3, ['cut']]);
});

test('a bridge gets the cause of frames that cannot be converted', () => {
  const scene = new RelayScene(h264Media);
  const [bridge] = [scene.bridge(), scene.device()];
  scene.transcoders.refusal = 'load';
  bridge.video('mjpeg', '1', true);
  scene.transcoders.refusal = 'engine';
  scene.clock.advance(1000);
  bridge.video('mjpeg', '2', true);
  bridge.video('mjpeg', '3', true);
  assert.deepEqual(bridge.dropCauses, ['load', 'unsupported']);
});

test('a viewer of the output has the very pictures of the device, made once', async () => {
  const scene = new RelayScene();
  const [bridge, device, viewer] = [scene.bridge(), scene.device(), scene.viewer('output')];
  bridge.video('mjpeg', 'frame', true);
  assert.equal(scene.transcoder.taken[0]?.shapes.length, 1);
  await scene.transcoder.answer();
  assert.deepEqual([device.texts, viewer.texts], [['fit_screen of frame'], ['fit_screen of frame']]);
  assert.deepEqual(scene.counts, { encoded: 1 });
});

test('a viewer of the source has MJPEG untouched, and pictures of its own size of other formats', async () => {
  const scene = new RelayScene();
  const [bridge, device, viewer] = [scene.bridge(), scene.device(), scene.viewer('source')];
  bridge.video('mjpeg', 'frame', true, 0);
  await scene.transcoder.answer();
  bridge.video('h264', 'key', true, 100);
  viewer.read();
  device.read();
  assert.deepEqual(
    scene.transcoder.taken[1]?.shapes.map(({ mode }) => mode),
    ['fit_screen', 'auto'],
  );
  await scene.transcoder.answer();
  assert.deepEqual(viewer.texts, ['frame', 'auto of key']);
  assert.deepEqual(device.texts, ['fit_screen of frame', 'fit_screen of key']);
  assert.deepEqual(scene.counts, { encoded: 2 });
});

test('H.264 that passes is also decoded for viewers, and counted once, by the result for the device', async () => {
  const scene = new RelayScene(h264Media);
  const [bridge, device, viewer] = [scene.bridge(), scene.device(), scene.viewer('source')];
  bridge.video('h264', 'key', true);
  await scene.transcoder.answer();
  device.readAll();
  assert.deepEqual([device.texts, viewer.texts], [['key'], ['auto of key']]);
  assert.deepEqual(scene.counts, { passed: 1 });
});

test('while two pictures wait for a slow device none is made for it', async () => {
  const scene = new RelayScene();
  const [bridge, device] = [scene.bridge(), scene.device()];
  for (const [n, at] of [0, 100, 200].entries()) {
    bridge.video('mjpeg', `${n}`, true, at);
    await scene.transcoder.answer();
  }
  bridge.video('mjpeg', '3', true, 300);
  assert.equal(scene.transcoder.isWorking, false, 'a frame that stands alone is not decoded');
  bridge.video('h264', 'key', true, 400);
  assert.deepEqual(scene.transcoder.taken.at(-1)?.shapes, [], 'a coded one is, for those behind it');
  await scene.transcoder.answer();
  assert.deepEqual(scene.counts, { encoded: 1, slow_leg: 2 });
  device.readAll();
  assert.deepEqual(device.texts, ['fit_screen of 0', 'fit_screen of 1', 'fit_screen of 2']);
  bridge.video('h264', '5', false, 500);
  await scene.transcoder.answer();
  assert.equal(device.texts.at(-1), 'fit_screen of 5', 'and goes on without a key frame');
});

test('a slow viewer costs the device nothing, and a slow device no viewer', async () => {
  const scene = new RelayScene();
  const [bridge, device, viewer] = [scene.bridge(), scene.device(), scene.viewer('output')];
  for (let n = 0; n < 6; n++) {
    bridge.video('mjpeg', `${n}`, true, n * 100);
    await scene.transcoder.answer();
    device.read();
  }
  assert.equal(device.messages.length, 6);
  assert.deepEqual(viewer.readAll(), ['fit_screen of 4', 'fit_screen of 5'], 'the newest');
  for (let n = 6; n < 12; n++) {
    bridge.video('mjpeg', `${n}`, true, n * 100);
    await scene.transcoder.answer();
    viewer.read();
  }
  assert.equal(viewer.messages.length, 9);
});

test('a device that does not keep up with passing H.264 continues at a key frame, which the bridge is asked for', () => {
  const scene = new RelayScene(h264Media);
  const [bridge, device] = [scene.bridge(), scene.device()];
  bridge.video('h264', 'key', true);
  for (let n = 1; n <= 32; n++) bridge.video('h264', `${n}`);
  assert.equal(bridge.keyFramesAsked, 1);
  bridge.video('h264', 'key 2', true);
  device.readAll();
  assert.deepEqual(device.texts, ['key', 'key 2']);
  assert.deepEqual(scene.counts, { passed: 2, slow_leg: 31, no_key_frame: 1 });
});

test('without a decoder H.264 is unsupported under auto, and MJPEG passes', () => {
  const scene = new RelayScene(autoMedia);
  scene.transcoders.refusal = 'engine';
  const [bridge, device] = [scene.bridge(), scene.device()];
  bridge.video('h264', 'key', true);
  bridge.video('mjpeg', 'picture', true);
  device.readAll();
  assert.deepEqual(device.texts, ['picture']);
  assert.deepEqual(scene.counts, { unsupported: 1, passed: 1 });
});

test('a session has a view', async () => {
  const scene = new RelayScene();
  assert.equal(scene.relay.view(scene.sessionId), null);
  const [bridge, device] = [scene.bridge(), scene.device()];
  scene.viewer('source');
  bridge.video('i420', 'frame', true);
  await scene.transcoder.answer({ rebuilds: 1, workMs: 3 });
  device.readAll();
  const view = scene.relay.view(scene.sessionId);
  assert.deepEqual(
    { ...view, frames: view?.frames.encoded },
    {
      mode: 'fit_screen',
      hasDevice: true,
      hasBridge: true,
      viewers: 1,
      source: { format: 'i420', size: { width: 640, height: 480 }, framesPerSecond: 1, bytesPerSecond: 5 },
      output: { format: 'mjpeg', size: { width: 160, height: 100 }, framesPerSecond: 1, bytesPerSecond: 19 },
      camera: null,
      frames: 1,
      rebuilds: 1,
      keyFramesAsked: 0,
      frameMs: { p50: 0, p99: 0 },
      workMs: { p50: 3, p99: 3 },
    },
  );
});

test('the size of a source is that of its key frames, whatever the headers in between contain', () => {
  const scene = new RelayScene(h264Media);
  const bridge = scene.bridge();
  bridge.video('h264', 'key', true);
  const header = {
    kind: 'video',
    format: 'h264',
    isKeyFrame: false,
    width: 1,
    height: 1,
    timestampMs: 9,
  } as const;
  bridge.leg.frame(header, new Uint8Array(4), new Uint8Array(12));
  assert.deepEqual(scene.relay.view(scene.sessionId)?.source?.size, { width: 640, height: 480 });
});

test('after frames without a receiver the decoder continues at a key frame', async () => {
  const scene = new RelayScene();
  const [bridge, device] = [scene.bridge(), scene.device()];
  bridge.video('h264', 'key', true, 0);
  await scene.transcoder.answer();
  device.leave();
  bridge.video('h264', '1', false, 100);
  scene.device();
  bridge.video('h264', '2', false, 200);
  assert.equal(scene.transcoder.isWorking, false);
  assert.deepEqual(scene.counts, { encoded: 1, no_receiver: 1, no_key_frame: 1 });
});

test('frames of a device reach the bridge untouched, header and payload', () => {
  const scene = new RelayScene();
  const [bridge, device] = [scene.bridge(), scene.device()];
  device.video('h265', 'a frame', true, 0xfffffff0);
  device.audio('sound', 20);
  bridge.readAll();
  assert.deepEqual(bridge.texts, ['a frame', 'sound']);
  assert.equal(bridge.messages[0]?.headerHex, '01020001028001e0fffffff0');
  assert.deepEqual(scene.counts, { passed: 1, audio: 1 });
});

test('frames of a device become H.264 for a bridge that requests it, and H.264 passes untouched', async () => {
  const scene = new RelayScene();
  const [bridge, device] = [scene.bridge(), scene.device()];
  bridge.leg.wants({ audio: null, video: 'h264' });
  device.video('mjpeg', 'a picture', true, 9);
  const [, uplink] = scene.transcoders.live;
  await uplink?.answer();
  device.video('mjpeg', 'another', true, 100);
  await uplink?.answer();
  device.audio('sound');
  device.video('h264', 'key', true, 200);
  bridge.readAll();
  assert.deepEqual(bridge.texts, ['h264 key of a picture', 'sound', 'h264 of another', 'key']);
  assert.equal(bridge.messages[0]?.headerHex, '01010001028001e000000009');
  assert.deepEqual(scene.counts, { encoded: 2, audio: 1, passed: 1 });
  bridge.leg.wants({ audio: null, video: null });
  assert.deepEqual([uplink?.isClosed, scene.transcoders.live.length], [true, 1]);
  device.video('mjpeg', 'as it comes', true, 300);
  assert.equal(bridge.texts.at(-1), 'as it comes');
});

test('H.265 of a device is decoded from a key frame on, which it is asked for', async () => {
  const scene = new RelayScene(h264Media);
  const [bridge, device] = [scene.bridge(), scene.device()];
  bridge.leg.wants({ audio: null, video: 'h264' });
  device.video('h265', 'too late to begin with', false, 0);
  assert.equal(device.keyFramesAsked, 1);
  device.video('h265', 'key', true, 100);
  await scene.transcoder.answer();
  assert.deepEqual(bridge.texts, ['h264 key of key']);
  assert.deepEqual(scene.counts, { no_key_frame: 1, encoded: 1 });
});

test('a bridge that needs a key frame has one made, or requested from the device', async () => {
  const scene = new RelayScene(h264Media);
  const [bridge, device] = [scene.bridge(), scene.device()];
  device.video('h264', 'key', true, 0);
  bridge.leg.wantKeyFrame();
  assert.equal(device.keyFramesAsked, 1);
  bridge.leg.wants({ audio: null, video: 'h264' });
  for (const n of [1, 2, 3, 4]) {
    if (n === 3) bridge.leg.wantKeyFrame();
    device.video('mjpeg', `${n}`, true, n * 100);
    await scene.transcoder.answer(n === 3 ? { drop: 'undecodable' } : {});
    bridge.readAll();
  }
  assert.deepEqual(bridge.texts, ['key', 'h264 key of 1', 'h264 of 2', 'h264 key of 4']);
  assert.equal(device.keyFramesAsked, 1);
});

test('a device that needs a key frame has one made, or requested from the bridge', async () => {
  const scene = new RelayScene(h264Media);
  const [bridge, device] = [scene.bridge(), scene.device()];
  bridge.video('h264', 'key', true, 0);
  device.leg.wantKeyFrame();
  assert.equal(bridge.keyFramesAsked, 1);
  for (const n of [1, 2]) {
    bridge.video('mjpeg', `${n}`, true, n * 100);
    await scene.transcoder.answer();
    device.leg.wantKeyFrame();
  }
  device.readAll();
  assert.deepEqual(device.texts, ['key', 'h264 key of 1', 'h264 key of 2']);
});

test('a device that does not keep up with pictures shared with a viewer continues at a key frame, which is made', async () => {
  const scene = new RelayScene(h264Media);
  const [bridge, device, viewer] = [scene.bridge(), scene.device(), scene.liveViewer()];
  for (let n = 0; n < 34; n++) {
    bridge.video('mjpeg', `${n}`, true, n * 100);
    await scene.transcoder.answer();
    viewer.output.readAll();
  }
  device.readAll();
  assert.deepEqual(device.texts, ['h264 key of 0', 'h264 key of 32', 'h264 of 33']);
  assert.equal(viewer.output.texts.length, 34);
  assert.deepEqual(scene.counts, { encoded: 3, slow_leg: 31 });
});

test('a device that replaces another begins with a key frame of its own', async () => {
  const scene = new RelayScene(h264Media);
  const [bridge, device] = [scene.bridge(), scene.device()];
  bridge.leg.wants({ audio: null, video: 'h264' });
  device.video('h265', 'key', true, 0);
  await scene.transcoder.answer();
  const other = scene.device();
  other.video('h265', 'builds on what is not there', false, 100);
  assert.equal(scene.transcoder.isWorking, false);
  other.leave();
  assert.deepEqual(scene.transcoders.live, []);
});

test('a flag that audio may have stays set', () => {
  const scene = new RelayScene();
  const [bridge, device] = [scene.bridge(), scene.device()];
  const flagged = Buffer.from(encodeFrameHeader({ kind: 'audio', format: 'opus', timestampMs: 7 }));
  flagged.writeUInt16BE(1, 2);
  device.leg.frame({ kind: 'audio', format: 'opus', timestampMs: 7 }, new Uint8Array(5), flagged);
  assert.equal(bridge.messages[0]?.headerHex, flagged.toString('hex'));
});

test('a bridge that joins late makes the relay request a key frame from the device', () => {
  const scene = new RelayScene(h264Media);
  const device = scene.device();
  device.video('h264', 'early');
  scene.bridge();
  assert.equal(device.keyFramesAsked, 1);
});
