/** One source at a time for each stream of a client, and the key frame requests that it costs. Source: RFC 3550, 6.6, 8 and A.1. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keyFrameAskMsMin } from '../../../../src/model/limits.ts';
import {
  rtcSourceRateMax,
  rtcSourceSilenceMs,
  rtcUnitSilenceMs,
} from '../../../../src/model/media/rtc-limits.ts';
import { encodePictureLost, encodeReceiverReport } from '../../../../src/protocol/rtp/rtcp.ts';
import { IncomingScene } from '../../../support/incoming-scene.ts';

const [first, second] = [0x1111_1111, 0x2222_2222];
const shown = (nal: string, isKey = false): string => `video 00000001${nal}${isKey ? ' key' : ''}`;

/** A hand-written BYE (RFC 3550, 6.6) after an empty report. */
function bye(...ssrcs: number[]): Buffer {
  const bytes = Buffer.alloc(4 + ssrcs.length * 4);
  bytes[0] = 0x80 | ssrcs.length;
  bytes[1] = 203;
  bytes.writeUInt16BE(ssrcs.length, 2);
  for (const [index, ssrc] of ssrcs.entries()) bytes.writeUInt32BE(ssrc, 4 + index * 4);
  return Buffer.concat([encodeReceiverReport({ ssrc: ssrcs[0] ?? 1, blocks: [] }), bytes]);
}

/** Streams of several sources, each with its own sequence and time, a picture every 40 ms. */
class Sources {
  readonly scene = new IncomingScene();
  readonly #counts = new Map<number, number>();

  flow(count: number, ssrcs: readonly number[], isKey = (_index: number) => false): void {
    for (let index = 0; index < count; index += 1) {
      for (const ssrc of ssrcs) this.#sendNext(ssrc, isKey(index));
      this.scene.pass(40);
    }
  }

  #sendNext(ssrc: number, isKey: boolean): void {
    const index = this.#counts.get(ssrc) ?? 0;
    this.#counts.set(ssrc, index + 1);
    const nal = `${isKey ? '65' : '41'}9a${ssrc.toString(16).padStart(8, '0')}`;
    const sequence = (index + ssrc) & 0xffff;
    this.scene.send(nal, { ssrc, sequence, timestamp: index * 3600 + ssrc, marker: true });
  }

  /** The delivered pictures, by source. */
  get delivered(): readonly string[] {
    return this.scene.video.map((line) => /9a([0-9a-f]{8})/.exec(line)?.[1] ?? '');
  }
}

const hex = (ssrc: number): string => ssrc.toString(16).padStart(8, '0');
const firstIsKey = (index: number): boolean => index === 0;

test('the first of concurrent sources is delivered, and none is asked for anything', () => {
  const sources = new Sources();
  sources.flow(100, [first, second, 3], firstIsKey);
  sources.scene.pass(rtcUnitSilenceMs);
  assert.deepEqual(new Set(sources.delivered), new Set([hex(first)]));
  assert.equal(sources.delivered.length, 100);
  assert.equal(sources.scene.pictureLosses, 0);
});

test('another source takes over at once after a BYE, with its key frame, and the last picture before is delivered', () => {
  const sources = new Sources();
  sources.flow(3, [first], firstIsKey);
  sources.scene.push(bye(first));
  sources.flow(3, [second], firstIsKey);
  sources.scene.pass(rtcUnitSilenceMs);
  assert.deepEqual(sources.delivered, [first, first, first, second, second, second].map(hex));
  assert.equal(sources.scene.pictureLosses, 0);
});

test('a BYE of another source, or a truncated one, changes nothing', () => {
  const sources = new Sources();
  sources.flow(3, [first], firstIsKey);
  for (const packet of [bye(3), bye(first).subarray(0, 12)]) sources.scene.push(packet);
  sources.flow(3, [first, second]);
  sources.scene.pass(rtcUnitSilenceMs);
  assert.deepEqual(new Set(sources.delivered), new Set([hex(first)]));
});

test('another source takes over when the first has been silent for a second, and is asked for a key frame', () => {
  const sources = new Sources();
  sources.flow(10, [first, second], firstIsKey);
  sources.flow(rtcSourceSilenceMs / 40 - 1, [second]);
  assert.deepEqual(new Set(sources.delivered), new Set([hex(first)]));
  assert.equal(sources.scene.pictureLosses, 0);
  sources.flow(3, [second]);
  const [lost] = sources.scene.feedback.flatMap(({ message }) =>
    message.kind === 'picture_lost' ? [message.ssrc] : [],
  );
  assert.equal(lost, second);
  sources.flow(5, [second], firstIsKey);
  sources.scene.pass(rtcUnitSilenceMs);
  assert.deepEqual(
    sources.delivered.slice(10),
    Array.from({ length: 5 }, () => hex(second)),
  );
});

test('a source that is joined in the middle of a key frame delivers none of it', () => {
  const { scene } = new Sources();
  scene.send('6588', { ssrc: first, sequence: 1, timestamp: 1, marker: true });
  for (let ms = 0; ms < rtcSourceSilenceMs; ms += 20) {
    scene.send('6588', { ssrc: second, sequence: 1 + ms / 20, timestamp: 9 });
    scene.pass(20);
  }
  scene.send('6542', { ssrc: second, sequence: 1 + rtcSourceSilenceMs / 20, timestamp: 9, marker: true });
  scene.pass(rtcUnitSilenceMs);
  assert.deepEqual(scene.video, [shown('6588', true)]);
  assert.equal(scene.pictureLosses, 2, 'at its beginning, and when its first unit ended');
});

test('a source for each packet begins a stream as often as the limit permits, and costs a request in 500 ms at most', () => {
  const { scene } = new Sources();
  for (let ssrc = 1; ssrc <= 6000; ssrc += 1) {
    scene.push(bye(ssrc - 1));
    scene.send('4199', { ssrc, sequence: 1, timestamp: 1, marker: true });
  }
  scene.pass(20);
  assert.equal(scene.video.length, 0);
  assert(scene.pictureLosses <= 1);
  // Feedback beyond its rate is not read.
  scene.pass(rtcSourceSilenceMs * rtcSourceRateMax.burst);
  scene.send('6588', { ssrc: 9, sequence: 1, timestamp: 1, marker: true });
  scene.send('4199', { ssrc: 9, sequence: 2, timestamp: 2, marker: true });
  scene.pass(rtcUnitSilenceMs);
  assert.deepEqual(scene.video, [shown('6588', true), shown('4199')]);
});

test('sources that are silent by turns replace each other once a second at most', () => {
  const sources = new Sources();
  const pass = (ssrc: number): void => {
    sources.flow(1, [ssrc], () => true);
    sources.scene.push(bye(ssrc));
  };
  for (let turn = 0; turn < 100; turn += 1) pass(turn % 2 === 0 ? first : second);
  sources.scene.pass(rtcUnitSilenceMs);
  const changes = sources.delivered.filter(
    (ssrc, index) => index > 0 && ssrc !== sources.delivered[index - 1],
  );
  assert(
    changes.length >= 4 && changes.length <= rtcSourceRateMax.burst + 4,
    `${changes.length} changes in 4 s`,
  );
});

test('sound has one source as well, and another one after a BYE or a second of silence', () => {
  const scene = new IncomingScene();
  const sound = (ssrc: number, index: number): void =>
    scene.send(`f8${ssrc.toString(16)}`, { payloadType: 111, ssrc, sequence: index, timestamp: index * 960 });
  for (let index = 0; index < 10; index += 1) {
    sound(0x11, index);
    sound(0x22, index);
    scene.pass(20);
  }
  assert.deepEqual(new Set(scene.audio), new Set(['audio opus f811']));
  scene.push(bye(0x11));
  sound(0x22, 10);
  sound(0x22, 11);
  assert.deepEqual(scene.audio.slice(10), ['audio opus f822', 'audio opus f822']);
  scene.pass(rtcSourceSilenceMs);
  sound(0x33, 0);
  assert.equal(scene.audio.at(-1), 'audio opus f833');
});

test('reports are about one source, however many send', () => {
  const sources = new Sources();
  sources.flow(100, [first, second, 3, 4], firstIsKey);
  const blocks = sources.scene.feedback.flatMap(({ message }) => ('blocks' in message ? message.blocks : []));
  assert(blocks.length > 2);
  assert.deepEqual(new Set(blocks.map(({ ssrc }) => ssrc)), new Set([first]));
  assert(blocks.every(({ lost }) => lost === 0));
});

test('two encoders under one source, far apart in their numbers, deliver one of them', () => {
  const { scene } = new Sources();
  for (let index = 0; index < 50; index += 1) {
    const isKey = index === 0;
    scene.send(isKey ? '6588' : '419a', { sequence: 100 + index, timestamp: index * 3600, marker: true });
    scene.send('419b', { sequence: 30_000 + index, timestamp: 900_000 + index * 3600, marker: true });
    scene.pass(40);
  }
  scene.pass(rtcUnitSilenceMs);
  assert.deepEqual(scene.video.slice(0, 2), [shown('6588', true), shown('419a')]);
  assert.equal(scene.video.length, 50);
  assert.equal(scene.pictureLosses, 0);
});

test('an encoder that restarts under its source with other numbers is followed from its second packet on', () => {
  const scene = new IncomingScene();
  scene.send('6588', { sequence: 100, timestamp: 0, marker: true });
  for (const [index, nal] of ['6599', '419a', '6599', '419b'].entries())
    scene.send(nal, { sequence: 30_000 + index, timestamp: 900_000 + index * 3600, marker: true });
  scene.pass(rtcUnitSilenceMs);
  assert.deepEqual(scene.video, [shown('6588', true), shown('6599', true), shown('419b')]);
});

/** Bursts of loss, requests of the relay, source changes and broken pictures, all at once. */
test('whatever the causes, a client is asked for a key frame once in 500 ms, and at the end if one is still wanted', () => {
  const scene = new IncomingScene();
  for (let index = 0; index < 500; index += 1) {
    const ssrc = 1 + Math.floor(index / 60);
    if (index % 60 === 59) scene.push(bye(ssrc));
    if (index % 7 === 3) scene.skip();
    if (index % 11 === 5) scene.streams.askKeyFrame();
    const payload = index % 13 === 0 ? '7c0599' : '419a';
    scene.send(payload, { ssrc, timestamp: index * 3600, marker: index % 3 !== 0 });
    scene.pass(40);
  }
  const gaps = scene.lossesMs.slice(1).map((atMs, index) => atMs - (scene.lossesMs[index] ?? 0));
  assert(scene.lossesMs.length > 20);
  assert(
    gaps.every((gap) => gap >= keyFrameAskMsMin),
    `${Math.min(...gaps)} ms`,
  );
});

test('an early request is sent when it is due, and not at all when a key frame came before', () => {
  for (const comesKey of [false, true]) {
    const scene = new IncomingScene();
    scene.send('6588', { timestamp: 0, marker: true });
    scene.pass(200);
    scene.streams.askKeyFrame();
    scene.pass(100);
    scene.streams.askKeyFrame();
    assert.deepEqual(scene.lossesMs, [200]);
    if (comesKey) scene.send('6599', { timestamp: 1, marker: true });
    scene.pass(keyFrameAskMsMin);
    assert.deepEqual(scene.lossesMs, comesKey ? [200] : [200, 200 + keyFrameAskMsMin]);
    scene.pass(2000);
    assert.equal(scene.lossesMs.length, comesKey ? 1 : 2, 'it is sent once');
  }
});

test('PLI and FIR of a client are one request in 500 ms, and the last one is not lost', () => {
  const scene = new IncomingScene();
  const { video } = scene.streams.ssrcs;
  const fullIntra = Buffer.alloc(20);
  fullIntra.set([0x84, 206, 0, 4]);
  fullIntra.writeUInt32BE(video, 12);
  for (let ms = 0; ms < 1100; ms += 20) {
    scene.push(ms % 40 === 0 ? encodePictureLost(1, video) : fullIntra);
    scene.pass(20);
  }
  scene.pass(1000);
  assert.deepEqual(
    scene.owner.lines,
    Array.from({ length: 4 }, () => 'key frame wanted'),
  );
});
