import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAmr } from '../../../../src/media/sound/amr-frames.ts';

/** Frames of these kinds, each with this much data. */
function packet(...frames: readonly (readonly [kind: number, bytes: number])[]): Uint8Array<ArrayBuffer> {
  return new Uint8Array(
    frames.flatMap(([kind, bytes]) => [(kind << 3) | 4, ...Array<number>(bytes).fill(1)]),
  );
}

function speech(frames: number): Uint8Array<ArrayBuffer> {
  return packet(...Array.from({ length: frames }, () => [7, 31] as const));
}

function lengths(payload: Uint8Array<ArrayBuffer>, likely: 'narrow' | 'wide' = 'narrow'): unknown {
  const parsed = parseAmr(payload, likely);
  return parsed && [parsed.band, ...parsed.frames.map((frame) => frame?.length ?? 0)];
}

test('frames show their band by their lengths, whatever was likely', () => {
  assert.deepEqual(lengths(packet([7, 31], [0, 12]), 'wide'), ['narrow', 32, 13]);
  assert.deepEqual(lengths(packet([8, 60], [2, 32]), 'narrow'), ['wide', 61, 33]);
});

test('a frame of noise, an empty one or lost speech is silence, in the likely band', () => {
  assert.deepEqual(lengths(packet([8, 5], [15, 0])), ['narrow', 0, 0]);
  assert.deepEqual(lengths(packet([15, 0]), 'wide'), ['wide', 0]);
  assert.deepEqual(lengths(packet([9, 5], [14, 0], [15, 0])), ['wide', 0, 0, 0]);
});

test('a packet that is cut, too long, empty, of a reserved kind or followed by something is invalid', () => {
  const whole = packet([7, 31]);
  for (let length = 0; length < whole.length; length++)
    assert.equal(lengths(whole.subarray(0, length)), null);
  assert.equal(lengths(packet([7, 32])), null);
  assert.equal(lengths(packet([12, 5])), null);
  assert.notEqual(lengths(speech(25)), null);
  assert.equal(lengths(speech(26)), null);
});

test('a flood of empty frames is not read to its end', () => {
  const endless = new Proxy(new Uint8Array(1000).fill(15 << 3), {
    get: (bytes, at) => (at === '26' ? assert.fail('it is too long by then') : Reflect.get(bytes, at, bytes)),
  });
  assert.equal(parseAmr(endless, 'narrow'), null);
});
