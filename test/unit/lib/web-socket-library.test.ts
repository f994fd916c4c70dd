import assert from 'node:assert/strict';
import http from 'node:http';
import { test } from 'node:test';
import { websocketMask, websocketUnmask } from '../../../src/lib/connections/web-socket-library.ts';

const mask = Uint8Array.of(0x37, 0xfa, 0x21, 0x3d);
const lengthMax = 12;

/** RFC 6455, section 5.3, byte by byte. */
function masked(bytes: Uint8Array): Uint8Array {
  return bytes.map((byte, at) => byte ^ (mask[at % 4] ?? 0));
}

test('a message of any length and offset is unmasked in place, and its neighbours are untouched', () => {
  for (let offset = 0; offset < 4; offset += 1)
    for (let length = 0; length <= lengthMax; length += 1) {
      const memory = Uint8Array.from({ length: offset + length + 4 }, (_, at) => at * 7);
      const expected = memory.slice();
      const message = memory.subarray(offset, offset + length);
      expected.set(masked(message), offset);

      websocketUnmask(message, mask);

      assert.deepEqual(memory, expected, `${length} bytes at ${offset}`);
    }
});

test('a message is masked into another buffer at an offset', () => {
  const message = Uint8Array.from({ length: lengthMax }, (_, at) => at);
  const output = new Uint8Array(lengthMax + 2);

  websocketMask(message, mask, output, 1, lengthMax - 1);

  assert.deepEqual(output.subarray(1, lengthMax), masked(message.subarray(0, lengthMax - 1)));
  assert.deepEqual([output[0], output[lengthMax], output[lengthMax + 1]], [0, 0, 0]);
});

test('the library finds the masking in node:http', () => {
  assert.ok('websocketMask' in http && 'websocketUnmask' in http);
});
