import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codedFramesWaitingMax } from '../../../../src/model/limits.ts';
import type { VideoFrameFormat } from '../../../../src/model/media/picture.ts';
import {
  VideoQueue,
  type WaitingVideo,
  AudioQueue,
  type WaitingAudio,
} from '../../../../src/media/relay/media-queues.ts';

interface Named extends WaitingVideo {
  readonly name: string;
}

function frame(name: string, format: VideoFrameFormat, isKey = false, bytes = 10): Named {
  return { name, format, isKey, isPicture: true, payload: new Uint8Array(bytes) };
}

const picture = (name: string): Named => frame(name, 'mjpeg', true);
const coded = (name: string, bytes?: number): Named => frame(name, 'h264', false, bytes);
const key = (name: string, bytes?: number): Named => frame(name, 'h264', true, bytes);

function videoQueue() {
  const dropped: string[] = [];
  const waiting = new VideoQueue<Named>(({ name }, why) => dropped.push(`${name} ${why}`));
  const names = (): string[] => {
    const all: string[] = [];
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) all.push(next.name);
    return all;
  };
  return { waiting, dropped, names };
}

test('the oldest of three independent frames is dropped', () => {
  const { waiting, dropped, names } = videoQueue();
  for (const name of ['a', 'b', 'c', 'd']) waiting.push(picture(name));
  assert.deepEqual(dropped, ['a slow_leg', 'b slow_leg']);
  assert.deepEqual(names(), ['c', 'd']);
});

test('two independent frames are enough, and one is not', () => {
  const { waiting } = videoQueue();
  waiting.push(picture('a'));
  assert.equal(waiting.hasPicturesEnough, false);
  waiting.push(frame('b', 'i420', true));
  assert.equal(waiting.hasPicturesEnough, true);
  waiting.shift();
  assert.equal(waiting.hasPicturesEnough, false);
});

test('thirty coded frames wait; with the next all are dropped, and later ones up to a key frame', () => {
  const { waiting, dropped, names } = videoQueue();
  waiting.push(key('key'));
  for (let n = 1; n < 30; n++) waiting.push(coded(`${n}`));
  assert.equal(dropped.length, 0);
  waiting.push(coded('30'));
  assert.equal(dropped.filter((drop) => drop.endsWith(' slow_leg')).length, 31);
  assert.equal(waiting.lacksKey, true);
  waiting.push(coded('31'));
  assert.equal(dropped.at(-1), '31 no_key_frame');
  waiting.push(key('key 2'));
  waiting.push(coded('33'));
  assert.equal(waiting.lacksKey, false);
  assert.deepEqual(names(), ['key 2', '33']);
});

test('a key frame that arrives when thirty wait replaces them', () => {
  const { waiting, dropped, names } = videoQueue();
  for (let n = 0; n < 30; n++) waiting.push(coded(`${n}`));
  waiting.push(key('key'));
  assert.equal(dropped.length, 30);
  assert.equal(waiting.lacksKey, false);
  assert.deepEqual(names(), ['key']);
});

test('coded frames of 1 MiB wait; with the next byte all are dropped', () => {
  const { waiting, dropped, names } = videoQueue();
  waiting.push(key('key', 1024 * 1024 - 10));
  waiting.push(coded('fits', 10));
  assert.deepEqual(dropped, []);
  waiting.push(coded('beyond', 1));
  assert.deepEqual(dropped, ['key slow_leg', 'fits slow_leg', 'beyond slow_leg']);
  assert.deepEqual(names(), []);
});

test('frames and bytes that were shifted make room', () => {
  const { waiting, dropped } = videoQueue();
  for (let n = 0; n < 100; n++) {
    waiting.push(coded(`${n}`, 600 * 1024));
    waiting.shift();
  }
  for (let n = 0; n < 30; n++) waiting.push(coded(`${n}`));
  assert.deepEqual(dropped, []);
});

test('dropped pictures leave the coded frames in the queue, and the other way round', () => {
  const { waiting, dropped, names } = videoQueue();
  waiting.push(coded('1'));
  waiting.push(picture('a'));
  for (let n = 2; n <= 30; n++) waiting.push(coded(`${n}`));
  waiting.push(picture('b'));
  waiting.push(picture('c'));
  assert.deepEqual(dropped, ['a slow_leg']);
  waiting.push(key('key'));
  assert.equal(dropped.length, 31);
  assert.deepEqual(names(), ['b', 'c', 'key']);
});

test('a required key frame is awaited, while queued frames stay', () => {
  const { waiting, dropped, names } = videoQueue();
  waiting.push(coded('1'));
  waiting.requireKey();
  waiting.push(coded('2'));
  waiting.push(key('key'));
  assert.deepEqual(dropped, ['2 no_key_frame']);
  assert.deepEqual(names(), ['1', 'key']);
});

test('parameter sets in a frame of their own are kept for the key frame after them, and are none themselves', () => {
  const { waiting, dropped, names } = videoQueue();
  const parameters = (name: string): Named => ({ ...coded(name), isPicture: false });
  waiting.requireKey();
  for (const each of [coded('a'), parameters('b'), coded('c'), key('d'), coded('e')]) waiting.push(each);
  assert.deepEqual(dropped, ['a no_key_frame', 'c no_key_frame']);
  assert.deepEqual(names(), ['b', 'd', 'e']);
});

test('parameter sets that arrive at a full queue clear it, and stay', () => {
  const { waiting, names } = videoQueue();
  for (let i = 0; i < codedFramesWaitingMax; i += 1) waiting.push(coded(`${i}`));
  waiting.push({ ...coded('parameters'), isPicture: false });
  waiting.push(coded('lost'));
  waiting.push(key('key'));
  assert.deepEqual(names(), ['parameters', 'key']);
});

function audioQueue() {
  const dropped: number[] = [];
  const waiting = new AudioQueue<WaitingAudio>(({ timestampMs }) => dropped.push(timestampMs));
  const push = (timestampMs: number, bytes = 160): void =>
    waiting.push({ timestampMs, payload: new Uint8Array(bytes) });
  const times = (): number[] => {
    const all: number[] = [];
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) all.push(next.timestampMs);
    return all;
  };
  return { push, dropped, times };
}

test('packets of 500 ms wait; older ones than that before the newest are dropped', () => {
  const { push, dropped, times } = audioQueue();
  for (let at = 0; at <= 500; at += 20) push(at);
  assert.deepEqual(dropped, []);
  push(520);
  assert.deepEqual(dropped, [0]);
  push(600);
  assert.deepEqual(dropped, [0, 20, 40, 60, 80]);
  assert.deepEqual(times(), [...Array.from({ length: 22 }, (_, n) => 100 + n * 20), 600]);
});

test('timestamps that wrap around to 0 are no jump', () => {
  const { push, dropped, times } = audioQueue();
  push(2 ** 32 - 20);
  push(0);
  push(480);
  assert.deepEqual(dropped, []);
  push(500);
  assert.deepEqual(dropped, [2 ** 32 - 20]);
  assert.deepEqual(times(), [0, 480, 500]);
});

test('a packet out of order stays; a jump back is another stream, and the old one is dropped', () => {
  const { push, dropped, times } = audioQueue();
  for (const at of [5000, 5040, 5020]) push(at);
  assert.deepEqual(dropped, []);
  push(100);
  assert.deepEqual(dropped, [5000, 5040, 5020]);
  assert.deepEqual(times(), [100]);
});

test('a hundred packets wait, whatever their times', () => {
  const { push, dropped, times } = audioQueue();
  for (let n = 0; n <= 100; n++) push(n);
  assert.deepEqual(dropped, [0]);
  assert.equal(times().length, 100);
});

test('half a second of the widest format waits, and one packet however large', () => {
  const { push, dropped, times } = audioQueue();
  for (let at = 0; at < 500; at += 20) push(at, 3840);
  assert.deepEqual(dropped, []);
  push(500, 1024 * 1024);
  assert.equal(dropped.length, 25);
  assert.deepEqual(times(), [500]);
});
