import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  overdueFramesMax,
  overdueFramesOfApplicationMax,
  overdueRefusalMs,
  overdueSessionsMax,
} from '../../../../src/model/media/decoding-limits.ts';
import { generateSessionId } from '../../../../src/model/ids.ts';
import { OverdueFrames } from '../../../../src/media/relay/overdue-frames.ts';
import { audioOnlyMedia } from '../../../support/call-scene.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { type FakeLeg, RelayScene } from '../../../support/relay-scene.ts';

const overdue = { drop: 'overdue', source: null, workMs: 250 } as const;

async function sendOverdue(scene: RelayScene, bridge: FakeLeg): Promise<void> {
  bridge.video('h264', 'bomb', true);
  await scene.transcoder.answer(overdue);
}

test('after an overdue frame nothing of its call is decoded for a while', async () => {
  const scene = new RelayScene();
  const [bridge] = [scene.bridge(), scene.device()];
  await sendOverdue(scene, bridge);
  bridge.video('h264', 'next', true);
  bridge.video('mjpeg', 'another', true);
  scene.clock.advance(overdueRefusalMs - 1);
  bridge.video('h264', 'late', true);
  assert.equal(scene.transcoder.taken.length, 1);
  assert.deepEqual(scene.counts, { overdue: 4 });

  scene.clock.advance(1);
  bridge.video('h264', 'delta', false);
  bridge.video('h264', 'key', true);
  assert.deepEqual(
    scene.transcoder.taken.map(({ frame }) => Buffer.from(frame.payload).toString()),
    ['bomb', 'key'],
  );
  assert.equal(bridge.callsEnded, 0);
});

test('frames that pass untouched are still passed on', async () => {
  const scene = new RelayScene();
  const [bridge] = [scene.bridge(), scene.device()];
  const { source } = scene.liveViewer();
  await sendOverdue(scene, bridge);
  bridge.video('h264', 'next', true);

  assert.deepEqual(source.readAll(), ['next']);
  assert.equal(source.texts[0], 'bomb');
});

test('the third overdue frame ends the call, through its bridge, or through its device if that has left', async () => {
  const scene = new RelayScene();
  const [bridge, device] = [scene.bridge(), scene.device()];
  for (let sent = 1; sent < overdueFramesMax; sent += 1) {
    await sendOverdue(scene, bridge);
    assert.equal(bridge.callsEnded, 0);
    scene.clock.advance(overdueRefusalMs);
  }
  await sendOverdue(scene, bridge);
  assert.deepEqual([bridge.callsEnded, device.callsEnded], [1, 0]);

  scene.clock.advance(overdueRefusalMs);
  bridge.video('h264', 'bomb', true);
  bridge.leave();
  await scene.transcoder.answer(overdue);
  assert.deepEqual([bridge.callsEnded, device.callsEnded], [1, 1]);
});

test('legs that leave and reconnect change nothing of it', async () => {
  const scene = new RelayScene();
  for (let sent = 1; sent < overdueFramesMax; sent += 1) {
    const [bridge, device] = [scene.bridge(), scene.device()];
    bridge.video('h264', 'bomb', true);
    bridge.leave();
    device.leave();
    await scene.transcoders.opened.at(-1)?.answer(overdue);
    const [again, other] = [scene.bridge(), scene.device()];
    again.video('h264', 'at once', true);
    assert.equal(scene.transcoder.taken.length, 0);
    again.leave();
    other.leave();
    scene.clock.advance(overdueRefusalMs);
  }
  const [bridge] = [scene.bridge(), scene.device()];
  await sendOverdue(scene, bridge);

  assert.equal(bridge.callsEnded, 1);
});

test('an overdue packet of sound counts as well', async () => {
  const scene = new RelayScene(audioOnlyMedia);
  const [bridge] = [scene.bridge(), scene.device()];
  for (let sent = 1; sent <= overdueFramesMax; sent += 1) {
    bridge.audio('bomb', sent * 20, 'opus');
    await scene.soundTranscoder.answer({ drop: 'overdue' });
    bridge.audio('next', sent * 20 + 10, 'opus');
    scene.clock.advance(overdueRefusalMs);
  }

  assert.equal(scene.soundTranscoder.taken.length, overdueFramesMax);
  assert.deepEqual(scene.counts, { overdue: 2 * overdueFramesMax });
  assert.equal(bridge.callsEnded, 1);
});

test('only the sessions that were overdue last are remembered', () => {
  const frames = new OverdueFrames(new DrivenClock());
  const sessions = Array.from({ length: overdueSessionsMax + 1 }, () => frames.of(generateSessionId()));
  for (const session of sessions) session.add();

  assert.deepEqual(
    [sessions[0], sessions[1], sessions.at(-1)].map((session) => session?.isRefused()),
    [false, true, true],
  );
});

test('overdue frames of several calls of one application refuse all of its calls for a while, and no other', () => {
  const clock = new DrivenClock();
  const frames = new OverdueFrames(clock);
  const call = (application: string) => frames.of(generateSessionId(), () => application);
  const [innocent, other] = [call('one'), call('another')];
  for (let calls = 1; calls < overdueFramesOfApplicationMax; calls += 1) call('one').add();
  assert.equal(innocent.isRefused(), false);
  call('one').add();
  assert.deepEqual([innocent.isRefused(), call('one').isRefused(), other.isRefused()], [true, true, false]);
  clock.advance(overdueRefusalMs);
  assert.equal(innocent.isRefused(), false);
  call('one').add();
  clock.advance(overdueRefusalMs);
  assert.equal(innocent.isRefused(), true, 'the next time takes longer');
});
