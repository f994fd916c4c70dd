import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeyFrameRequest } from '../../../../src/media/relay/source-video.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';

const payload = new Uint8Array(4);
const coded = { format: 'h264', isKey: false, payload } as const;
const key = { format: 'h264', isKey: true, payload } as const;
const picture = { format: 'mjpeg', isKey: true, payload } as const;

function request() {
  const clock = new DrivenClock();
  const asked: number[] = [];
  return { clock, asked, keyFrames: new KeyFrameRequest(clock, () => asked.push(clock.monotonicMs())) };
}

test('a key frame is requested once in 500 ms, and again while none has come', () => {
  const { clock, asked, keyFrames } = request();
  keyFrames.recordFrame(coded);
  keyFrames.want();
  keyFrames.want();
  clock.advance(499);
  keyFrames.want();
  keyFrames.recordFrame(coded);
  assert.deepEqual(asked, [0]);
  clock.advance(1);
  keyFrames.recordFrame(coded);
  assert.deepEqual(asked, [0, 500]);
});

test('an early request is sent when it is due, although no frame comes, unless a key frame came or the leg left', () => {
  for (const [what, prevent, times] of [
    ['nothing', () => undefined, [0, 500]],
    ['a key frame', (keyFrames: KeyFrameRequest) => keyFrames.recordFrame(key), [0]],
    ['the end', (keyFrames: KeyFrameRequest) => keyFrames.close(), [0]],
  ] as const) {
    const { clock, asked, keyFrames } = request();
    keyFrames.recordFrame(coded);
    keyFrames.want();
    clock.advance(100);
    for (let cause = 0; cause < 10; cause += 1) keyFrames.want();
    prevent(keyFrames);
    clock.advance(10_000);
    assert.deepEqual(asked, times, what);
    assert.equal(clock.pendingTimers, 0);
  }
});

test('a key frame that came is not requested any more', () => {
  const { clock, asked, keyFrames } = request();
  keyFrames.recordFrame(coded);
  keyFrames.want();
  keyFrames.recordFrame(key);
  clock.advance(600);
  keyFrames.recordFrame(coded);
  assert.deepEqual(asked, [0]);
  keyFrames.want();
  assert.deepEqual(asked, [0, 600]);
});

test('no key frame is requested before the first frame, nor of independent frames', () => {
  const { asked, keyFrames } = request();
  keyFrames.want();
  keyFrames.recordFrame(picture);
  keyFrames.want();
  assert.deepEqual(asked, []);
  keyFrames.recordFrame(coded);
  assert.deepEqual(asked, [0], 'the first frame shows what it is');
});
