import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pictureBurstMs, pictureShareMax } from '../../../../src/model/media/decoding-limits.ts';
import { afterThat } from '../../../support/fake-transcoders.ts';
import { h264Media, RelayScene } from '../../../support/relay-scene.ts';

/** A call whose transcoder has its first frame, a key frame, and keeps it. */
function busyScene() {
  const scene = new RelayScene();
  const [bridge, device] = [scene.bridge(), scene.device()];
  bridge.video('h264', 'key', true, 0);
  return { scene, bridge, device };
}

function textsTaken(scene: RelayScene): string[] {
  return scene.transcoder.taken.map(({ frame }) => Buffer.from(frame.payload).toString());
}

test('frames are transcoded one at a time, in order', async () => {
  const { scene, bridge, device } = busyScene();
  for (let n = 1; n < 4; n++) bridge.video('h264', `${n}`, false, n * 100);
  assert.deepEqual(textsTaken(scene), ['key']);
  for (let n = 0; n < 4; n++) {
    await scene.transcoder.answer();
    device.read();
  }
  assert.deepEqual(textsTaken(scene), ['key', '1', '2', '3']);
  assert.deepEqual(
    device.texts,
    ['key', '1', '2', '3'].map((name) => `fit_screen of ${name}`),
  );
});

test('above the frame rate independent frames are not decoded, and coded ones make no picture', async () => {
  const scene = new RelayScene();
  const [bridge, device] = [scene.bridge(), scene.device()];
  for (let n = 0; n < 30; n++) {
    bridge.video(n < 15 ? 'mjpeg' : 'h264', `${n}`, n <= 15, Math.round((n * 1000) / 30));
    if (scene.transcoder.isWorking) await scene.transcoder.answer();
    device.read();
  }
  const [decoded, pictured] = [scene.transcoder.taken.length, device.messages.length];
  assert.equal(pictured, 15);
  assert.equal(decoded, 8 + 15);
  assert.deepEqual(scene.counts, { encoded: 15, paced: 15 });
});

test('the frames of a closed pipeline have no receiver', async () => {
  const { scene, bridge, device } = busyScene();
  const { transcoder } = scene;
  bridge.video('h264', '1', false, 100);
  device.leave();
  bridge.leave();
  assert.ok(transcoder.isClosed);
  await transcoder.answer();
  assert.deepEqual(device.texts, []);
  assert.deepEqual(scene.counts, { no_receiver: 2 });
});

test('a frame that also passes is copied for the decoder, which transfers its memory', async () => {
  const { scene, bridge } = busyScene();
  const payload = new Uint8Array(Buffer.from('moved'));
  const header = {
    kind: 'video',
    format: 'mjpeg',
    isKeyFrame: true,
    width: 4,
    height: 4,
    timestampMs: 500,
  } as const;
  bridge.leg.frame(header, payload, new Uint8Array(12));
  await scene.transcoder.answer();
  assert.equal(payload.length, 0);
  await afterThat();
  assert.equal(textsTaken(scene).at(-1), 'moved');
});

test('a wanted key frame is not requested if one is already queued', async () => {
  const { scene, bridge } = busyScene();
  bridge.video('h264', '1', false, 100);
  bridge.video('h264', 'key 2', true, 200);
  const broken = { source: null, drop: 'undecodable', keyFrameWanted: true } as const;
  await scene.transcoder.answer(broken);
  await scene.transcoder.answer(broken);
  assert.equal(bridge.keyFramesAsked, 0);
  await scene.transcoder.answer(broken);
  assert.equal(bridge.keyFramesAsked, 1);
});

test('parameter sets in a message of their own do not count for the frame rate, and are no drop of a slow leg', async () => {
  const scene = new RelayScene();
  const [bridge] = [scene.bridge(), scene.device()];
  bridge.video('h264', '\0\0\x01\x67', false, 0);
  bridge.video('h264', 'key', true, 0);
  await scene.transcoder.answer({ source: null, pictures: [] });
  assert.deepEqual(scene.counts, { unsupported: 1 });
  await scene.transcoder.answer();
  assert.deepEqual(scene.counts, { unsupported: 1, encoded: 1 });
});

test('a call that exceeds its share of a busy worker loses frames until it has time again', async () => {
  const { scene, bridge, device } = busyScene();
  scene.transcoder.hasTimeToSpare = false;
  await scene.transcoder.answer({ workMs: pictureBurstMs + 10 });
  device.read();
  bridge.video('h264', 'delta', false, 100);
  bridge.video('mjpeg', 'picture', true, 200);
  assert.deepEqual(textsTaken(scene), ['key']);
  assert.deepEqual(scene.counts, { encoded: 1, load: 2 });
  assert.equal(bridge.keyFramesAsked, 0);

  scene.clock.advance(11 / pictureShareMax);
  bridge.video('h264', 'behind', false, 300);
  bridge.video('h264', 'next key', true, 400);
  assert.deepEqual(textsTaken(scene), ['key', 'next key']);
  assert.equal(bridge.keyFramesAsked, 1);
});

test('a worker with time to spare processes everything that a call sends', async () => {
  const { scene, bridge } = busyScene();
  await scene.transcoder.answer({ workMs: 2 * pictureBurstMs });
  bridge.video('h264', 'next', false, 100);

  assert.deepEqual(textsTaken(scene), ['key', 'next']);
});

test('key frames made for receivers that lost some are 500 ms apart, and the last one wanted is made', async () => {
  const scene = new RelayScene(h264Media);
  const [bridge, device] = [scene.bridge(), scene.device()];
  for (let n = 0; n < 21; n++) {
    bridge.video('mjpeg', `${n}`, true, n * 100);
    await scene.transcoder.answer();
    device.readAll();
    if (n < 11) device.leg.wantKeyFrame();
    scene.clock.advance(100);
  }
  const wanted = scene.transcoder.taken.flatMap(({ isKeyWanted }, n) => (isKeyWanted ? [n] : []));
  assert.deepEqual(wanted, [1, 6, 11]);
});
