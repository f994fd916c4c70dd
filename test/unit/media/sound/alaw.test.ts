import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeAlaw, encodeAlaw } from '../../../../src/media/sound/alaw.ts';

const codes = Uint8Array.from({ length: 256 }, (_, code) => code);

test('samples of G.711 have its codes', () => {
  const samples = Int16Array.of(0, 8, -8, 1000, -1000, 32_767, -32_768);
  assert.deepEqual([...encodeAlaw(samples)], [0xd5, 0xd5, 0x55, 0xfa, 0x7a, 0xaa, 0x2a]);
  assert.deepEqual([...decodeAlaw(Uint8Array.of(0xd5, 0x55, 0xaa, 0x2a))], [8, -8, 32_256, -32_256]);
});

test('every code is decoded and encoded to itself', () => {
  assert.deepEqual(encodeAlaw(decodeAlaw(codes)), codes);
});

test('a sample is off by half a step at most, and steps grow with it', () => {
  for (let sample = -32_768; sample <= 32_767; sample += 97) {
    const [decoded = 0] = decodeAlaw(encodeAlaw(Int16Array.of(sample)));
    const step = Math.max(16, 2 ** (Math.floor(Math.log2(Math.abs(sample))) - 4));
    assert.ok(Math.abs(decoded - sample) <= step / 2, `${sample} became ${decoded}`);
  }
});
