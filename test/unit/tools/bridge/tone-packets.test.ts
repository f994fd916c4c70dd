import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeAlaw, tonePacket } from '../../../../src/tools/bridge/bridge-playback.ts';

/** ITU-T G.711 the other way round, from its definition. */
function decodeAlaw(code: number): number {
  const bits = code ^ 0x55;
  const exponent = (bits >> 4) & 7;
  const mantissa = bits & 0x0f;
  const level = exponent === 0 ? (mantissa << 4) + 8 : ((mantissa << 4) + 0x108) << (exponent - 1);
  return (bits & 0x80) === 0 ? -level : level;
}

test('every level comes back within the step of its segment', () => {
  for (let level = -32_768; level <= 32_767; level += 1) {
    const error = Math.abs(decodeAlaw(encodeAlaw(level)) - level);
    assert.ok(error <= Math.max(16, Math.abs(level) / 16), `${level} is off by ${error}`);
  }
});

test('silence and the extremes are coded as the recommendation has them', () => {
  assert.deepEqual([0, -1, 32_767, -32_768].map(encodeAlaw), [0xd5, 0x55, 0xaa, 0x2a]);
});

test('a packet has 20 ms of every channel, and the next goes on where it ended', () => {
  assert.equal(tonePacket(0, 8000, 1).length, 160);
  const stereo = tonePacket(0, 16_000, 2);
  assert.equal(stereo.length, 640);
  assert.deepEqual(
    [...stereo.subarray(100, 110)].filter((_, index) => index % 2 === 0),
    [...stereo.subarray(100, 110)].filter((_, index) => index % 2 === 1),
  );
  const levels = [0, 20, 40].flatMap((atMs) => [...tonePacket(atMs, 8000, 1)].map(decodeAlaw));
  const crossings = levels.filter((level, index) => level >= 0 && (levels[index - 1] ?? 0) < 0).length;
  assert.equal(crossings, Math.floor(440 * 0.06), '440 times a second');
  const steps = levels.slice(1).map((level, index) => Math.abs(level - (levels[index] ?? 0)));
  assert.ok(Math.max(...steps) < 3500, 'without a click between packets');
});
