import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AudioQueue, type WaitingAudio } from '../../../../src/media/relay/audio-queue.ts';

function queue() {
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

test('packets of 500 ms wait; what is older than that beside the newest goes', () => {
  const { push, dropped, times } = queue();
  for (let at = 0; at <= 500; at += 20) push(at);
  assert.deepEqual(dropped, []);
  push(520);
  assert.deepEqual(dropped, [0]);
  push(600);
  assert.deepEqual(dropped, [0, 20, 40, 60, 80]);
  assert.deepEqual(times(), [...Array.from({ length: 22 }, (_, n) => 100 + n * 20), 600]);
});

test('timestamps that start again at 0 are no jump', () => {
  const { push, dropped, times } = queue();
  push(2 ** 32 - 20);
  push(0);
  push(480);
  assert.deepEqual(dropped, []);
  push(500);
  assert.deepEqual(dropped, [2 ** 32 - 20]);
  assert.deepEqual(times(), [0, 480, 500]);
});

test('a packet out of turn stays; a jump back is another stream, and the old one goes', () => {
  const { push, dropped, times } = queue();
  for (const at of [5000, 5040, 5020]) push(at);
  assert.deepEqual(dropped, []);
  push(100);
  assert.deepEqual(dropped, [5000, 5040, 5020]);
  assert.deepEqual(times(), [100]);
});

test('a hundred packets wait, of whatever time', () => {
  const { push, dropped, times } = queue();
  for (let n = 0; n <= 100; n++) push(n);
  assert.deepEqual(dropped, [0]);
  assert.equal(times().length, 100);
});

test('half a second of the widest format waits, and one packet however large', () => {
  const { push, dropped, times } = queue();
  for (let at = 0; at < 500; at += 20) push(at, 3840);
  assert.deepEqual(dropped, []);
  push(500, 1024 * 1024);
  assert.equal(dropped.length, 25);
  assert.deepEqual(times(), [500]);
});
