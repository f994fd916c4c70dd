import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FrameCost } from '../../../../src/media/transcoding/frame-cost.ts';

const vga = { width: 640, height: 480 };
const qvga = { width: 320, height: 240 };

function assertNear(share: number, expected: number): void {
  assert.ok(Math.abs(share / expected - 1) < 0.02, `${share} is not near ${expected}`);
}

test('before any frame, 640 by 480 at 15 frames a second is 1.3 ms each', () => {
  assertNear(new FrameCost().share({ request: vga, maxFps: 15 }), 0.0195);
});

test('a share follows pixels and frame rate', () => {
  const cost = new FrameCost();

  assertNear(cost.share({ request: qvga, maxFps: 15 }), 0.0195 / 4);
  assertNear(cost.share({ request: vga, maxFps: 30 }), 0.039);
});

test('it comes to what frames lately cost, by pixels', () => {
  const cost = new FrameCost();
  for (let pair = 0; pair < 5000; pair++) {
    cost.add(vga, 4);
    cost.add(qvga, 1);
  }

  assertNear(cost.share({ request: vga, maxFps: 10 }), 0.04);
  assertNear(cost.share({ request: qvga, maxFps: 10 }), 0.01);
});

test('one odd frame moves it little', () => {
  const cost = new FrameCost();
  cost.add(vga, 20);

  assertNear(cost.share({ request: vga, maxFps: 15 }), 0.0195);
});
