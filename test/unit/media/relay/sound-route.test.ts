import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallMedia } from '../../../../src/model/call.ts';
import { audioBytesWaitingMax } from '../../../../src/model/limits.ts';
import { soundBurstMs, soundRetryMsMin } from '../../../../src/model/media/sound-limits.ts';
import type { SoundShape } from '../../../../src/model/media/sound.ts';
import { audioOnlyMedia } from '../../../support/call-scene.ts';
import { madeOf } from '../../../support/fake-transcoders.ts';
import { RelayScene, type FakeLeg } from '../../../support/relay-scene.ts';

/** A-law, 8 kHz, one channel. */
const alawMedia = audioOnlyMedia;
const wideMedia: CallMedia = { ...alawMedia, audioRate: 16_000, audioChannels: 2 };
const opusMedia: CallMedia = { ...wideMedia, downAudio: 'opus' };
const amrMedia: CallMedia = { ...alawMedia, downAudio: 'amr' };
const alaw: SoundShape = { format: 'alaw', rate: 8000, channels: 1 };
const opus: SoundShape = { format: 'opus', rate: 48_000, channels: 2 };
const pcm: SoundShape = { format: 'pcm', rate: 16_000, channels: 1 };

test('the device has the sound it asked for, whatever the bridge sends', async () => {
  const scene = new RelayScene(wideMedia);
  const [bridge, device] = [scene.bridge(), scene.device()];
  for (const [at, format] of (['pcm', 'opus', 'amr'] as const).entries()) {
    bridge.audio(format, at * 20, format);
    await scene.soundTranscoder.answer();
  }
  device.readAll();
  assert.deepEqual(device.texts, ['alaw 16000/2 of pcm', 'alaw 16000/2 of opus', 'alaw 16000/2 of amr']);
  assert.equal(device.messages[1]?.headerHex, '020100000000000000000014');
  assert.deepEqual(scene.counts, { transcoded: 3 });
  assert.deepEqual(scene.soundTranscoder.taken[0]?.assumed, { rate: 16_000, channels: 2, format: 'alaw' });
});

for (const [format, media] of [
  ['alaw', wideMedia],
  ['opus', opusMedia],
  ['amr', amrMedia],
] as const)
  test(`${format} for a device that accepts it passes untouched, and no transcoder is opened`, () => {
    const scene = new RelayScene(media);
    const [bridge, device] = [scene.bridge(), scene.device()];
    bridge.audio('as it is', 20, format);
    assert.deepEqual(device.texts, ['as it is']);
    assert.deepEqual(scene.counts, { audio: 1 });
    assert.deepEqual(scene.transcoders.openedSound, []);
  });

/** A frame of each band: its octet, and data of the length that only that band has. */
const [narrowFrame, wideFrame] = [`<${'n'.repeat(31)}`, `D${'w'.repeat(60)}`];

test('AMR of the other band is another format: it is transcoded', async () => {
  for (const [audioRate, same, other] of [
    [8000, narrowFrame, wideFrame],
    [16_000, wideFrame, narrowFrame],
  ] as const) {
    const scene = new RelayScene({ ...amrMedia, audioRate });
    scene.transcoders.soundEncoders = ['amr', 'amr_wide'];
    const [bridge, device] = [scene.bridge(), scene.device()];
    bridge.audio(same, 0, 'amr');
    bridge.audio(other, 20, 'amr');
    await scene.soundTranscoder.answer();
    bridge.audio(same, 40, 'amr');
    device.readAll();
    assert.deepEqual(device.texts, [same, `amr ${audioRate}/1 of ${other}`, same]);
    assert.deepEqual(scene.counts, { audio: 2, transcoded: 1 });
  }
});

test('one packet is decoded at a time, once for all receivers, and each has it in its format', async () => {
  const scene = new RelayScene(alawMedia);
  const [bridge, device, listener] = [scene.bridge(), scene.device(), scene.liveViewer(() => opus).source];
  const silent = scene.viewer('output');
  const another = scene.liveViewer(() => ({ ...opus })).source;
  bridge.audio('1', 0, 'pcm');
  bridge.audio('2', 20, 'pcm');
  assert.equal(scene.soundTranscoder.taken.length, 1);
  assert.deepEqual(scene.soundTranscoder.taken[0]?.targets, [alaw, opus]);
  await scene.soundTranscoder.answer();
  await scene.soundTranscoder.answer();
  for (const leg of [device, listener, another, silent]) leg.readAll();
  assert.deepEqual(device.texts, ['alaw 8000/1 of 1', 'alaw 8000/1 of 2']);
  assert.deepEqual(listener.texts, ['opus 48000/2 of 1', 'opus 48000/2 of 2']);
  assert.deepEqual([another.texts, silent.texts], [listener.texts, []]);
  assert.deepEqual(scene.counts, { transcoded: 2 });
});

test('a viewer has sound only while it asks for it, and costs the device no packet', async () => {
  const scene = new RelayScene(alawMedia);
  let asked: SoundShape | null = null;
  const [bridge, device, listener] = [scene.bridge(), scene.device(), scene.liveViewer(() => asked).source];
  bridge.audio('1', 0);
  assert.deepEqual(scene.transcoders.openedSound, []);
  asked = opus;
  bridge.audio('2', 20);
  await scene.soundTranscoder.answer();
  asked = null;
  bridge.audio('3', 40);
  for (const leg of [device, listener]) leg.readAll();
  assert.deepEqual(device.texts, ['1', '2', '3']);
  assert.deepEqual(listener.texts, ['opus 48000/2 of 2']);
  assert.deepEqual(scene.counts, { audio: 3 });
});

test('a viewer has the sound of a call without its device', async () => {
  const scene = new RelayScene(alawMedia);
  const [bridge, listener] = [scene.bridge(), scene.liveViewer(() => opus).source];
  bridge.audio('1');
  await scene.soundTranscoder.answer();
  assert.deepEqual(listener.texts, ['opus 48000/2 of 1']);
  assert.deepEqual(scene.counts, { transcoded: 1 });
});

test('a device may accept other sound than its credentials say, or none', async () => {
  const scene = new RelayScene(wideMedia);
  const bridge = scene.bridge();
  const narrow = scene.device('frames', alaw);
  bridge.audio('1');
  await scene.soundTranscoder.answer();
  assert.deepEqual(narrow.texts, ['alaw 8000/1 of 1'], 'two rates of A-law are two kinds of sound');
  const silent = scene.device('frames', null);
  bridge.audio('2');
  assert.deepEqual(silent.texts, []);
  assert.deepEqual(scene.counts, { transcoded: 1, unsupported: 1 });
});

test('the bridge has the sound of the device untouched, until it asks for another format', async () => {
  const scene = new RelayScene(wideMedia);
  const [bridge, device] = [scene.bridge(), scene.device()];
  device.audio('1', 0);
  bridge.leg.wants({ audio: pcm, video: null });
  device.audio('2', 20);
  assert.deepEqual(scene.soundTranscoder.taken[0]?.assumed, { format: 'alaw', rate: 16_000, channels: 2 });
  await scene.soundTranscoder.answer();
  device.audio('3', 40, 'pcm');
  await scene.soundTranscoder.answer();
  bridge.leg.wants({ audio: null, video: null });
  device.audio('4', 60, 'pcm');
  bridge.readAll();
  assert.deepEqual(bridge.texts, ['1', 'pcm 16000/1 of 2', 'pcm 16000/1 of 3', '4']);
  assert.deepEqual(scene.counts, { audio: 2, transcoded: 2 });
});

test('the wish of a bridge is its own: one that replaces it has untouched sound', () => {
  const scene = new RelayScene(alawMedia);
  const [first, device] = [scene.bridge(), scene.device()];
  first.leg.wants({ audio: pcm, video: null });
  const second = scene.bridge();
  first.leg.wants({ audio: pcm, video: null });
  device.audio('1');
  assert.deepEqual(second.texts, ['1']);
});

test('a device with its own sound shape sends A-law in the same', async () => {
  const scene = new RelayScene(wideMedia);
  const [bridge, device] = [scene.bridge(), scene.device('frames', alaw)];
  bridge.leg.wants({ audio: pcm, video: null });
  device.audio('1');
  assert.deepEqual(scene.soundTranscoder.taken[0]?.assumed, alaw);
  await scene.soundTranscoder.answer();
  scene.device('frames', opus).audio('2');
  assert.deepEqual(scene.soundTranscoder.taken[1]?.assumed, { format: 'alaw', rate: 16_000, channels: 2 });
});

test('the transcoders of a call are closed with it, and their packets have no receiver', async () => {
  const scene = new RelayScene(amrMedia);
  const [bridge, device] = [scene.bridge(), scene.device()];
  bridge.leg.wants({ audio: pcm, video: null });
  for (const leg of [bridge, device]) {
    leg.audio('1', 0);
    leg.audio('2', 20);
  }
  device.leave();
  bridge.leave();
  assert.deepEqual(
    scene.transcoders.openedSound.map(({ isClosed }) => isClosed),
    [true, true],
  );
  for (const transcoder of scene.transcoders.openedSound) await transcoder.answer();
  assert.deepEqual(scene.counts, { no_receiver: 4 });
});

test('sound that no worker has time to convert is lost, never passed on, and retried now and then', async () => {
  const scene = new RelayScene(alawMedia);
  const [bridge, device] = [scene.bridge(), scene.device()];
  scene.transcoders.refusal = 'load';
  bridge.audio('1', 0, 'pcm');
  scene.transcoders.refusal = null;
  bridge.audio('2', 20, 'pcm');
  bridge.audio('3', 40);
  scene.clock.advance(soundRetryMsMin - 1);
  bridge.audio('4', 60, 'pcm');
  assert.deepEqual(scene.transcoders.openedSound, []);
  scene.clock.advance(1);
  bridge.audio('5', 80, 'pcm');
  await scene.soundTranscoder.answer();
  device.readAll();
  assert.deepEqual(device.texts, ['3', 'alaw 8000/1 of 5']);
  assert.deepEqual(scene.counts, { load: 3, audio: 1, transcoded: 1 });
});

test('without a decoder, or an encoder for it, sound of another format is not supported', () => {
  const without = new RelayScene(alawMedia);
  without.transcoders.refusal = 'engine';
  const [bridge, device] = [without.bridge(), without.device()];
  bridge.audio('1', 0, 'pcm');
  bridge.audio('2', 20);
  assert.deepEqual(device.texts, ['2']);
  assert.deepEqual(without.counts, { unsupported: 1, audio: 1 });
  const scene = new RelayScene(amrMedia);
  scene.transcoders.soundEncoders = ['alaw', 'pcm'];
  const other = scene.bridge();
  scene.device();
  other.audio('1', 0, 'pcm');
  assert.deepEqual(scene.transcoders.openedSound, []);
  assert.deepEqual(scene.counts, { unsupported: 1 });
  const wide = new RelayScene({ ...amrMedia, audioRate: 16_000 });
  wide.transcoders.soundEncoders = ['alaw', 'amr', 'pcm'];
  const [wideBridge] = [wide.bridge(), wide.device()];
  wideBridge.audio('1', 0, 'pcm');
  assert.deepEqual(wide.counts, { unsupported: 1 }, 'wide-band AMR is another encoding');
});

test("a viewer of a format that can be made has it, even if the device's cannot", async () => {
  const scene = new RelayScene(amrMedia);
  scene.transcoders.soundEncoders = ['opus'];
  const [bridge, , listener] = [scene.bridge(), scene.device(), scene.liveViewer(() => opus).source];
  bridge.audio('1', 0, 'pcm');
  assert.deepEqual(scene.soundTranscoder.taken[0]?.targets, [opus]);
  await scene.soundTranscoder.answer();
  assert.deepEqual(listener.texts, ['opus 48000/2 of 1']);
  assert.deepEqual(scene.counts, { unsupported: 1 });
});

for (const drop of ['undecodable', 'engine', 'rebuild_failed'] as const)
  test(`a packet without a result is counted as ${drop}, and the next one has its turn`, async () => {
    const scene = new RelayScene(alawMedia);
    const [bridge, device] = [scene.bridge(), scene.device()];
    bridge.audio('1', 0, 'pcm');
    bridge.audio('2', 20, 'pcm');
    await scene.soundTranscoder.answer({ drop, rebuilds: 1 });
    await scene.soundTranscoder.answer();
    assert.deepEqual(device.texts, ['alaw 8000/1 of 2']);
    assert.deepEqual(scene.counts, { [drop]: 1, transcoded: 1 });
    assert.equal(scene.telemetry.count('media rebuild'), 1);
  });

test('a packet counts once, whether it completes no block or several', async () => {
  const scene = new RelayScene(alawMedia);
  const [bridge, device] = [scene.bridge(), scene.device()];
  bridge.audio('short', 0, 'pcm');
  await scene.soundTranscoder.answer({ packets: [[]] });
  bridge.audio('long', 10, 'pcm');
  const [, long] = scene.soundTranscoder.taken;
  assert.ok(long !== undefined);
  await scene.soundTranscoder.answer({ packets: [[0, 20, 40].map((at) => madeOf(long.packet, alaw, at))] });
  assert.equal(device.readAll().length, 2);
  assert.deepEqual(
    device.messages.map(({ header }) => header?.timestampMs),
    [0, 20, 40],
  );
  assert.deepEqual(scene.counts, { transcoded: 2 });
});

test('after sound that passed, sound made for earlier times is not sent any more', async () => {
  const scene = new RelayScene(alawMedia);
  const [bridge, device] = [scene.bridge(), scene.device()];
  bridge.audio('1', 0, 'pcm');
  bridge.audio('2', 20);
  await scene.soundTranscoder.answer();
  bridge.audio('3', 60, 'pcm');
  const [, third] = scene.soundTranscoder.taken;
  assert.ok(third !== undefined);
  await scene.soundTranscoder.answer({ packets: [[20, 40, 60].map((at) => madeOf(third.packet, alaw, at))] });
  device.readAll();
  assert.deepEqual(
    device.messages.map(({ header }) => header?.timestampMs),
    [20, 40, 60],
  );
  assert.deepEqual(scene.counts, { transcoded: 2, audio: 1 });
});

test('a flood of sound is limited to the newest 500 ms before the transcoder, and before the leg', async () => {
  const scene = new RelayScene(alawMedia);
  const [bridge, device] = [scene.bridge(), scene.device()];
  for (let at = 0; at <= 2000; at += 20) bridge.audio(`${at}`, at, 'pcm');
  await answerAll(scene);
  const got = device.readAll();
  assert.equal(device.texts[0], 'alaw 8000/1 of 0');
  assert.deepEqual([got[0], got.at(-1), got.length], ['alaw 8000/1 of 1500', 'alaw 8000/1 of 2000', 26]);
  assert.deepEqual(scene.counts, { transcoded: 27, slow_leg: 74 });
});

test('sound that exceeds its share of its worker is dropped, and continues when time is available again', async () => {
  const scene = new RelayScene(alawMedia);
  const [bridge, device] = [scene.bridge(), scene.device()];
  bridge.audio('dear', 0, 'pcm');
  await scene.soundTranscoder.answer({ workMs: soundBurstMs });
  bridge.audio('too much', 20, 'pcm');
  bridge.audio('as it is', 40);
  assert.equal(scene.soundTranscoder.isWorking, false);
  scene.clock.advance(20);
  bridge.audio('again', 60, 'pcm');
  await scene.soundTranscoder.answer();
  device.readAll();
  assert.deepEqual(device.texts, ['alaw 8000/1 of dear', 'as it is', 'alaw 8000/1 of again']);
  assert.deepEqual(scene.counts, { transcoded: 2, load: 1, audio: 1 });
});

test('a packet larger than the whole sound queue is not decoded', () => {
  const scene = new RelayScene(alawMedia);
  const bridge = scene.bridge();
  scene.device();
  bridge.audio('x'.repeat(audioBytesWaitingMax + 1), 0, 'pcm');
  assert.deepEqual(scene.transcoders.openedSound, []);
  assert.deepEqual(scene.counts, { too_large: 1 });
});

test('a slow viewer costs the device no sound, and a slow device no viewer', async () => {
  for (const isDeviceSlow of [false, true]) {
    const scene = new RelayScene(alawMedia);
    const [bridge, device, listener] = [scene.bridge(), scene.device(), scene.liveViewer(() => opus).source];
    const quick: FakeLeg = isDeviceSlow ? listener : device;
    for (let at = 0; at <= 2000; at += 20) {
      bridge.audio(`${at}`, at, 'pcm');
      await scene.soundTranscoder.answer();
      quick.readAll();
    }
    assert.equal(quick.messages.length, 101);
    assert.equal((isDeviceSlow ? device : listener).readAll().length, 26);
  }
});

async function answerAll({ soundTranscoder }: RelayScene): Promise<void> {
  while (soundTranscoder.isWorking) await soundTranscoder.answer();
}
