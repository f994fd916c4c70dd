import { test } from 'node:test';
import assert from 'node:assert/strict';
import { StreamMeter, FrameTally } from '../../../../src/media/relay/session-stats.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeTelemetry } from '../../../support/fakes.ts';

function play(meter: StreamMeter, clock: DrivenClock, frames: number, everyMs: number): void {
  for (let n = 0; n < frames; n++) {
    meter.add('h264', n === 0 ? { width: 640, height: 480 } : null, 1000);
    clock.advance(everyMs);
  }
}

test('a stream of 20 frames a second is measured as one, and has the last known size', () => {
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

test('the rate of the first second is not extrapolated from one frame', () => {
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

test('half of the times are at most p50, and one in a hundred is above p99', () => {
  const tally = new FrameTally(new FakeTelemetry());
  assert.equal(tally.view().frameMs, null);
  for (let ms = 200; ms > 0; ms--) tally.pictureMade(ms, 0);
  assert.deepEqual(tally.view().frameMs, { p50: 100, p99: 198 });
});

test('256 times are kept, the newest', () => {
  const tally = new FrameTally(new FakeTelemetry());
  for (let n = 0; n < 1000; n++) tally.pictureMade(1000, 0);
  for (let n = 0; n < 256; n++) tally.pictureMade(5, 0);
  assert.deepEqual(tally.view().frameMs, { p50: 5, p99: 5 });
});
