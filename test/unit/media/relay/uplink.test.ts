import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeFrameHeader } from '../../../../src/protocol/media/frame-header.ts';
import { h264Media, RelayScene } from '../../../support/relay-scene.ts';

test('what a device sends reaches the bridge untouched, header and payload', () => {
  const scene = new RelayScene();
  const [bridge, device] = [scene.bridge(), scene.device()];
  device.video('h265', 'a frame', true, 0xfffffff0);
  device.audio('sound', 20);
  bridge.readAll();
  assert.deepEqual(bridge.texts, ['a frame', 'sound']);
  assert.equal(bridge.messages[0]?.headerHex, '01020001028001e0fffffff0');
  assert.deepEqual(scene.counts, { passed: 1, audio: 1 });
});

test('a flag that audio may have stays on it', () => {
  const scene = new RelayScene();
  const [bridge, device] = [scene.bridge(), scene.device()];
  const flagged = Buffer.from(encodeFrameHeader({ kind: 'audio', format: 'opus', timestampMs: 7 }));
  flagged.writeUInt16BE(1, 2);
  device.leg.frame({ kind: 'audio', format: 'opus', timestampMs: 7 }, new Uint8Array(5), flagged);
  assert.equal(bridge.messages[0]?.headerHex, flagged.toString('hex'));
});

test('frames to a bridge that is not there are not kept', () => {
  const scene = new RelayScene();
  const device = scene.device();
  device.video('h264', 'early', true);
  device.audio('early');
  const bridge = scene.bridge();
  assert.deepEqual(bridge.readAll(), []);
  assert.deepEqual(scene.counts, { no_receiver: 2 });
});

test('a bridge that comes late makes the device be asked for a key frame', () => {
  const scene = new RelayScene(h264Media);
  const device = scene.device();
  device.video('h264', 'early');
  scene.bridge();
  assert.equal(device.keyFramesAsked, 1);
});

test('a bridge that does not keep up loses coded frames up to the next key frame, which the device is asked for', () => {
  const scene = new RelayScene(h264Media);
  const [bridge, device] = [scene.bridge(), scene.device()];
  device.video('h264', 'key', true);
  for (let n = 1; n <= 31; n++) device.video('h264', `${n}`);
  assert.equal(device.keyFramesAsked, 1);
  device.video('h264', '32');
  device.video('h264', 'key 2', true);
  device.video('h264', '34');
  bridge.readAll();
  assert.deepEqual(bridge.texts, ['key', 'key 2', '34']);
  assert.deepEqual(scene.counts, { passed: 3, slow_leg: 31, no_key_frame: 1 });
  assert.equal(device.keyFramesAsked, 1);
});
