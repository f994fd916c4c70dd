/** The frame rate that a device's network carries, and requests for it to the bridge. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rtcFrameRateAskMsMin } from '../../../../src/model/media/rtc-limits.ts';
import { FrameRateWish } from '../../../../src/media/legs/frame-rate-wish.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';

const frameBytes = 2500;
const bitsPerSecond = 20 * frameBytes * 8;

class Stream {
  readonly clock = new DrivenClock();
  readonly asked: number[] = [];
  readonly wish = new FrameRateWish(this.clock, (maxFps) => this.asked.push(maxFps));

  /** 20 frames a second, for long enough that the bridge may be asked again. */
  play(): void {
    for (let atMs = 0; atMs < 2 * rtcFrameRateAskMsMin; atMs += 50) {
      this.clock.advance(50);
      this.wish.sent(frameBytes);
    }
  }
}

test('a bridge is asked for the share of its frames that the network carries', () => {
  const stream = new Stream();
  stream.play();
  stream.wish.allow(bitsPerSecond / 2);
  assert.deepEqual(stream.asked, [10]);
});

test('a network that carries everything, but hardly more, changes nothing', () => {
  const stream = new Stream();
  stream.play();
  stream.wish.allow(bitsPerSecond * 1.2);
  assert.deepEqual(stream.asked, []);
});

test('nothing is requested while nothing is sent', () => {
  const stream = new Stream();
  stream.wish.allow(1);
  assert.deepEqual(stream.asked, []);
});

test('a request is not repeated too soon, and an early report is not lost', () => {
  const stream = new Stream();
  stream.play();
  stream.wish.allow(bitsPerSecond / 2);
  stream.wish.allow(bitsPerSecond / 4);
  assert.deepEqual(stream.asked, [10]);
  stream.play();
  assert.deepEqual(stream.asked, [10, 5]);
  stream.wish.allow(1);
  assert.deepEqual(stream.asked, [10, 5, 1], 'a frame a second at least');
});

test('the frame rate rises step by step as the network improves, up to the maximum', () => {
  const stream = new Stream();
  stream.play();
  stream.wish.allow(bitsPerSecond / 2);
  for (let i = 0; i < 12; i += 1) {
    stream.play();
    stream.wish.allow(bitsPerSecond * 10);
  }
  assert.deepEqual(stream.asked, [10, 13, 17, 22, 28, 35, 44, 55, 60]);
});
