import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JoinedLeg, LegOutput } from '../../../../src/media/relay/send-queue.ts';
import { audioOnlyMedia } from '../../../support/call-scene.ts';
import {
  autoMedia,
  FakeOutput,
  fillMedia,
  fitMedia,
  h264Media,
  RelayScene,
} from '../../../support/relay-scene.ts';

const frames = (): LegOutput => ({ send: () => undefined, askKeyFrame: () => undefined });

test('a session exists while it has a leg or a viewer', () => {
  const scene = new RelayScene();
  const everybody = [scene.device(), scene.bridge(), scene.viewer('output')];
  for (const leg of everybody) {
    assert.equal(scene.relay.sessionCount, 1);
    leg.leave();
    leg.leave();
  }
  assert.equal(scene.relay.sessionCount, 0);
  assert.deepEqual(scene.transcoders.live, []);
});

test('a second device replaces the first, whose leave has no effect', async () => {
  const scene = new RelayScene();
  const [bridge, first] = [scene.bridge(), scene.device()];
  const second = scene.device();
  first.leave();
  bridge.video('mjpeg', 'frame', true);
  await scene.transcoder.answer();
  first.audio('from the first');
  second.audio('from the second');
  assert.deepEqual([first.texts, second.texts], [[], ['fit_screen of frame']]);
  assert.deepEqual(bridge.texts, ['from the second']);
});

test('a second bridge replaces the first, and begins with a key frame', async () => {
  const scene = new RelayScene();
  const [first, device] = [scene.bridge(), scene.device()];
  first.video('h264', 'key', true, 0);
  await scene.transcoder.answer();
  const second = scene.bridge();
  first.video('h264', 'of the first', true, 100);
  first.leave();
  second.video('h264', 'between', false, 200);
  assert.equal(second.keyFramesAsked, 1);
  second.video('h264', 'key 2', true, 300);
  await scene.transcoder.answer();
  device.readAll();
  assert.deepEqual(device.texts, ['fit_screen of key', 'fit_screen of key 2']);
  device.audio('sound');
  assert.deepEqual([first.texts, second.texts], [[], ['sound']]);
});

test('a call of pictures has its transcoder from the first leg to the last', () => {
  for (const media of [fitMedia, fillMedia, autoMedia]) {
    const scene = new RelayScene(media);
    const bridge = scene.bridge();
    assert.deepEqual(scene.transcoders.needs, [{ request: { width: 320, height: 240 }, maxFps: 15 }]);
    const device = scene.device();
    bridge.leave();
    assert.equal(scene.transcoders.opened.length, 1);
    device.leave();
    assert.deepEqual(scene.transcoders.live, []);
  }
});

test('a call of H.264 or without video has none, except for receivers of pictures', () => {
  const quiet = new RelayScene(audioOnlyMedia);
  quiet.bridge();
  quiet.device('pictures');
  quiet.viewer('source');
  assert.deepEqual(quiet.transcoders.needs, []);
  const scene = new RelayScene(h264Media);
  scene.bridge();
  scene.device();
  assert.deepEqual(scene.transcoders.needs, []);
  const viewer = scene.viewer('source');
  assert.equal(scene.transcoders.live.length, 1);
  viewer.leave();
  assert.equal(scene.transcoders.live.length, 0);
  scene.device('pictures');
  assert.equal(scene.transcoders.live.length, 1);
  scene.device('frames');
  assert.equal(scene.transcoders.live.length, 0);
});

test('a call without capacity is refused, and nothing is left of it', () => {
  const scene = new RelayScene();
  const { relay, sessionId, transcoders } = scene;
  transcoders.refusal = 'load';
  const out = new FakeOutput();
  const refused = { ok: false, error: 'load' };
  assert.equal(relay.refusalOf(sessionId, fitMedia, 'frames'), 'load');
  assert.deepEqual(relay.joinDevice(sessionId, fitMedia, { takes: 'pictures', ...pictures(out) }), refused);
  assert.deepEqual(relay.joinBridge(sessionId, autoMedia, out), refused);
  assert.equal(relay.sessionCount, 0);
  assert.equal(relay.refusalOf(sessionId, h264Media, 'frames'), null);
  assert.equal(relay.joinBridge(sessionId, h264Media, out).ok, true);
  assert.deepEqual(relay.watch(sessionId, 'source', pictures(out)), refused);
});

test('a participant of a call that is carried is not refused for load', () => {
  const scene = new RelayScene();
  scene.bridge();
  scene.transcoders.refusal = 'load';
  assert.equal(scene.relay.refusalOf(scene.sessionId, fitMedia, 'frames'), null);
  scene.device();
  scene.viewer('source');
});

test('without a decoder only untouched video is carried', () => {
  const { relay, sessionId, transcoders } = new RelayScene();
  transcoders.refusal = 'engine';
  const answers = [fitMedia, fillMedia, autoMedia, h264Media].map((media) =>
    relay.refusalOf(sessionId, media, 'frames'),
  );
  assert.deepEqual(answers, ['engine', 'engine', null, null]);
  assert.equal(relay.refusalOf(sessionId, h264Media, 'pictures'), 'engine', 'nobody makes JPEGs of H.264');
  const out = new FakeOutput();
  assert.equal(relay.joinBridge(sessionId, autoMedia, out).ok, true);
  assert.equal(relay.watch(sessionId, 'output', pictures(out)).ok, true);
});

test('the frame rate that a device wants is requested from the present bridge, and not for a replaced device', () => {
  const { relay, sessionId } = new RelayScene(h264Media);
  const asked: string[] = [];
  const bridge = (name: string): void => {
    const out = { ...frames(), askMaxFps: (maxFps: number) => asked.push(`${name} ${maxFps}`) };
    assert.ok(relay.joinBridge(sessionId, h264Media, out).ok);
  };
  const device = (): JoinedLeg => {
    const joined = relay.joinDevice(sessionId, h264Media, { takes: 'frames', ...frames() });
    assert.ok(joined.ok);
    return joined.value;
  };
  const former = device();
  former.wantMaxFps(9);
  bridge('first');
  former.wantMaxFps(8);
  bridge('second');
  const present = device();
  former.wantMaxFps(7);
  present.wantMaxFps(6);
  assert.deepEqual(asked, ['first 8', 'second 6']);
});

test('a refused device leaves the present one in its place', () => {
  const scene = new RelayScene(h264Media);
  const [bridge, device] = [scene.bridge(), scene.device()];
  scene.transcoders.refusal = 'load';
  const out = new FakeOutput();
  const joined = scene.relay.joinDevice(scene.sessionId, h264Media, { takes: 'pictures', ...pictures(out) });
  assert.deepEqual(joined, { ok: false, error: 'load' });
  bridge.video('h264', 'key', true);
  assert.deepEqual(device.texts, ['key']);
});

test('a viewer that joins before any leg sees the call when it begins', async () => {
  const scene = new RelayScene();
  const viewer = scene.viewer('output');
  assert.equal(scene.relay.view(scene.sessionId), null);
  const bridge = scene.bridge();
  bridge.video('mjpeg', 'frame', true);
  await scene.transcoder.answer();
  assert.deepEqual(viewer.texts, ['fit_screen of frame']);
});

test('a leg is not refused because of a viewer', () => {
  const scene = new RelayScene(h264Media);
  scene.viewer('output');
  scene.transcoders.refusal = 'load';
  const [bridge, device] = [scene.bridge(), scene.device()];
  bridge.video('h264', 'key', true);
  assert.deepEqual(device.texts, ['key']);
});

function pictures(out: FakeOutput) {
  return { sendPicture: (jpeg: Uint8Array, sent: () => void) => out.sendPicture(jpeg, sent) };
}
