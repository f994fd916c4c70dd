import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StreamMeter } from '../../../../src/media/relay/stream-meter.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';

function play(meter: StreamMeter, clock: DrivenClock, frames: number, everyMs: number): void {
  for (let n = 0; n < frames; n++) {
    meter.add('h264', n === 0 ? { width: 640, height: 480 } : null, 1000);
    clock.advance(everyMs);
  }
}

test('a stream of 20 frames a second is said to be one, and its size is the last that was told', () => {
  const clock = new DrivenClock();
  const meter = new StreamMeter(clock);
  assert.equal(meter.view(), null, 'nothing has come');
  play(meter, clock, 200, 50);
  assert.deepEqual(meter.view(), {
    format: 'h264',
    size: { width: 640, height: 480 },
    framesPerSecond: 20,
    bytesPerSecond: 20_000,
  });
});

test('the rate of the first second is not made up from one frame', () => {
  const clock = new DrivenClock();
  const meter = new StreamMeter(clock);
  meter.add('mjpeg', null, 500);
  assert.equal(meter.view()?.framesPerSecond, 1);
});

test('a stream that has stopped is at 0 after four seconds', () => {
  const clock = new DrivenClock();
  const meter = new StreamMeter(clock);
  play(meter, clock, 200, 50);
  clock.advance(2000);
  const slowed = meter.view()?.framesPerSecond ?? 0;
  assert.ok(slowed > 5 && slowed < 15, `${slowed}`);
  clock.advance(2000);
  assert.equal(meter.view()?.framesPerSecond, 0);
  clock.advance(3_600_000);
  play(meter, clock, 200, 50);
  assert.equal(meter.view()?.framesPerSecond, 20);
});

test('another format has its own size, or none', () => {
  const meter = new StreamMeter(new DrivenClock());
  meter.add('h264', { width: 640, height: 480 }, 10);
  meter.add('mjpeg', null, 10);
  assert.equal(meter.view()?.size, null);
});
