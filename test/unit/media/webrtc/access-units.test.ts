/**
 * Access units from hand-written packets: whatever the markers, a picture comes once and whole, or not at all. Source: RFC 6184, 5.1,
 * 5.7.1 and 5.8; RFC 3550, 5.1; ITU-T H.264, 7.4.1.2.3.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keyFrameAskMsMin, mediaMessageBytesMax } from '../../../../src/model/limits.ts';
import {
  rtcLeadingBytesMax,
  rtcMarkedUnitsMin,
  rtcReorderMsMax,
  rtcUnitMarkedMs,
  rtcUnitMsMax,
  rtcUnitSilenceMs,
} from '../../../../src/model/media/rtc-limits.ts';
import { IncomingScene } from '../../../support/incoming-scene.ts';

const intervalTicks = 6000;
const startCode = '00000001';
const unitOf = (...nals: string[]): string => `video ${nals.map((nal) => startCode + nal).join('')}`;

const [sps, pps, sei, aud, filler] = ['6742e01f', '68ce3c80', '0605aabb', '09f0', '0cff80'];
const keySlices = ['6588aa01', '6542aa02', '6524aa03', '6512aa04'];

test('the last picture before a pause is delivered: soon if it is marked, later if not', () => {
  for (const [marker, ms] of [
    [true, rtcUnitMarkedMs],
    [false, rtcUnitSilenceMs],
  ] as const) {
    const scene = new IncomingScene();
    scene.send('6588', { marker });
    scene.pass(ms - 20);
    assert.deepEqual(scene.video, []);
    scene.pass(40);
    assert.deepEqual(scene.video, [`${unitOf('6588')} key`]);
  }
});

/** One slice per picture, each marked, until the source's markers are trusted. */
function proveMarkers(scene: IncomingScene): number {
  for (let index = 0; index < rtcMarkedUnitsMin; index += 1)
    scene.send(index === 0 ? '6588' : '419a', { timestamp: index * intervalTicks, marker: true });
  assert.equal(scene.video.length, rtcMarkedUnitsMin - 1);
  const next = rtcMarkedUnitsMin * intervalTicks;
  scene.send('419b', { timestamp: next, marker: true });
  assert.equal(scene.video.length, rtcMarkedUnitsMin + 1, 'a marked unit is delivered at once');
  return next;
}

test('once the markers of a source have proved right, a marked picture waits for nothing', () => {
  proveMarkers(new IncomingScene());
});

test('a picture that continues after a trusted marker is one picture, and the source is not trusted again', () => {
  const scene = new IncomingScene();
  const last = proveMarkers(scene);
  scene.send('4142', { timestamp: last, marker: true });
  scene.send('4124', { timestamp: last, marker: true });
  assert.equal(scene.video.length, rtcMarkedUnitsMin + 1, 'the rest is not a picture of its own');
  assert.equal(scene.pictureLosses, 1);
  let timestamp = last;
  for (let index = 0; index <= rtcMarkedUnitsMin; index += 1) {
    timestamp += intervalTicks;
    for (const nal of keySlices) scene.send(nal, { timestamp, marker: true });
  }
  scene.pass(rtcUnitSilenceMs);
  assert.deepEqual(
    scene.video.slice(rtcMarkedUnitsMin + 1),
    Array.from({ length: rtcMarkedUnitsMin + 1 }, () => `${unitOf(...keySlices)} key`),
  );
});

test('parameter sets and messages with a timestamp or a marker of their own belong to the picture that follows', () => {
  for (const [what, packets] of [
    [
      'their own marker',
      [
        [sps, 0, true],
        [pps, 0, true],
        [sei, 0, true],
        ['6588', 0, true],
      ],
    ],
    [
      'their own timestamps',
      [
        [sps, 0, false],
        [pps, 10, false],
        [sei, 20, false],
        ['6588', 30, true],
      ],
    ],
    [
      'both',
      [
        [sps, 0, true],
        [pps, 10, true],
        [sei, 20, true],
        ['6588', 30, true],
      ],
    ],
  ] as readonly (readonly [string, readonly (readonly [string, number, boolean])[]])[]) {
    const scene = new IncomingScene();
    for (const [nal, timestamp, marker] of packets) scene.send(nal, { timestamp, marker });
    scene.pass(rtcUnitSilenceMs);
    assert.deepEqual(scene.video, [`${unitOf(sps, pps, sei, '6588')} key`], what);
  }
});

test('a picture that comes long after its parameter sets has them, under the same timestamp', () => {
  const scene = new IncomingScene();
  for (const nal of [sps, pps]) scene.send(nal, { timestamp: 0, marker: true });
  scene.pass(2 * rtcUnitSilenceMs);
  scene.send('6588', { timestamp: 0, marker: true });
  scene.pass(rtcUnitSilenceMs);
  assert.deepEqual(scene.video, [`${unitOf(sps, pps, '6588')} key`]);
});

test('units after the slices under the timestamp of the previous picture begin the next one', () => {
  for (const isProved of [false, true]) {
    const scene = new IncomingScene();
    const timestamp = isProved ? proveMarkers(scene) + intervalTicks : 0;
    const before = scene.video.length;
    scene.send('6588', { timestamp, marker: true });
    for (const nal of [filler, aud, sps, pps]) scene.send(nal, { timestamp });
    scene.send('6599', { timestamp: timestamp + intervalTicks, marker: true });
    scene.pass(rtcUnitSilenceMs);
    const first = isProved ? unitOf('6588') : unitOf('6588', filler);
    assert.deepEqual(scene.video.slice(before), [`${first} key`, `${unitOf(aud, sps, pps, '6599')} key`]);
    assert.equal(scene.pictureLosses, 0);
  }
});

test('parameter sets of a lost picture come with the next one', () => {
  const scene = new IncomingScene();
  for (const nal of [sps, pps]) scene.send(nal, { timestamp: 0 });
  scene.send('7c8588', { timestamp: 1 });
  scene.skip();
  scene.send('7c4588', { timestamp: 1, marker: true });
  scene.send('419a', { timestamp: 2, marker: true });
  scene.send('6588', { timestamp: 3, marker: true });
  scene.pass(rtcReorderMsMax.video + rtcUnitSilenceMs);
  assert.deepEqual(scene.video, [`${unitOf(sps, pps, '6588')} key`]);
});

test('units kept without a picture are bounded: the newest stay', () => {
  const scene = new IncomingScene();
  const half = rtcLeadingBytesMax / 2;
  for (let index = 0; index < 10; index += 1) {
    for (let at = 0; at < half; at += 1000) {
      const flags = (at === 0 ? 0x80 : 0) | (at + 1000 >= half ? 0x40 : 0);
      const head = `7c${(flags | 0x06).toString(16).padStart(2, '0')}`;
      scene.send(head + (index + 1).toString(16).padStart(2, '0').repeat(1000), { timestamp: index });
    }
  }
  scene.send('6588', { timestamp: 20, marker: true });
  scene.pass(rtcUnitSilenceMs);
  const [unit = ''] = scene.video;
  const bytes = unit.length / 2;
  assert(bytes > half && bytes <= rtcLeadingBytesMax + 1000, `${bytes} bytes`);
  assert(unit.includes('0a0a') && !unit.includes('0101'));
});

test('a packet lost after a marker that is not the last takes its picture with it', () => {
  const scene = new IncomingScene();
  const [first = '', , third = ''] = keySlices;
  scene.send(first, { timestamp: 0, marker: true });
  scene.skip();
  scene.send(third, { timestamp: 0, marker: true });
  scene.send('419a', { timestamp: 1, marker: true });
  scene.send('6599', { timestamp: 2, marker: true });
  scene.pass(rtcReorderMsMax.video + rtcUnitSilenceMs);
  assert.deepEqual(scene.video, [`${unitOf('6599')} key`]);
});

test('a loss between two pictures leaves the marked one before it whole, and hides the one after it', () => {
  const scene = new IncomingScene();
  scene.send('6588', { timestamp: 0, marker: true });
  scene.skip();
  scene.send('6542', { timestamp: 1, marker: true });
  scene.send('6599', { timestamp: 2, marker: true });
  scene.pass(rtcReorderMsMax.video + rtcUnitSilenceMs);
  assert.deepEqual(scene.video, [`${unitOf('6588')} key`, `${unitOf('6599')} key`]);
});

test('a packet that is sent again in time completes its picture, however late its unit ends', () => {
  const scene = new IncomingScene();
  scene.send('6588', { timestamp: 0, marker: true });
  const late = scene.packet('6542', { timestamp: 0, marker: true });
  scene.send('6524', { timestamp: 0, marker: true });
  scene.pass(rtcReorderMsMax.video - 20);
  scene.push(late);
  scene.pass(rtcUnitSilenceMs);
  assert.deepEqual(scene.video, [`${unitOf('6588', '6542', '6524')} key`]);
  assert.equal(scene.pictureLosses, 0);
});

test('padding alone changes nothing: no unit ends, and no marker is refuted', () => {
  const scene = new IncomingScene();
  const last = proveMarkers(scene);
  scene.send('', { timestamp: last });
  scene.send('', { timestamp: last + 90 });
  scene.send('419c', { timestamp: last + intervalTicks, marker: true });
  assert.equal(scene.video.length, rtcMarkedUnitsMin + 2);
  assert.equal(scene.pictureLosses, 0);
});

test('packets of a payload type that was not agreed, such as retransmissions, are no part of a unit', () => {
  const scene = new IncomingScene();
  scene.send('6588', { timestamp: 0, marker: true });
  scene.push(scene.packet('00016542', { timestamp: 0, payloadType: 97, ssrc: 2, sequence: 9 }));
  scene.send('419a', { timestamp: 1, marker: true });
  scene.pass(rtcUnitSilenceMs);
  assert.deepEqual(scene.video, [`${unitOf('6588')} key`, unitOf('419a')]);
});

test('a unit that never ends is dropped after its time, and costs one request in 500 ms', () => {
  const scene = new IncomingScene();
  const seconds = 20;
  for (let ms = 0; ms < seconds * 1000; ms += 40) {
    scene.send('419a', { timestamp: 7 });
    scene.pass(40);
  }
  assert.deepEqual(scene.video, []);
  const requestsMax = (seconds * 1000 - rtcUnitMsMax) / keyFrameAskMsMin + 1;
  assert(scene.pictureLosses > 1 && scene.pictureLosses <= requestsMax, `${scene.pictureLosses}`);
  scene.send('6588', { timestamp: 8 });
  scene.pass(rtcUnitSilenceMs);
  assert.deepEqual(scene.video, [`${unitOf('6588')} key`]);
});

test('a unit of too many bytes is dropped whole, however it is marked', () => {
  const scene = new IncomingScene();
  const slice = `419a${'aa'.repeat(1000)}`;
  scene.send('6588', { timestamp: 0, marker: true });
  for (let bytes = 0; bytes <= mediaMessageBytesMax; bytes += 1000)
    scene.send(slice, { timestamp: 1, marker: true });
  scene.send('6599', { timestamp: 2, marker: true });
  scene.pass(rtcUnitSilenceMs);
  assert.deepEqual(scene.video, [`${unitOf('6588')} key`, `${unitOf('6599')} key`]);
});
