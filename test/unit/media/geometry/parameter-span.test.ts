import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parameterSpan } from '../../../../src/media/geometry/parameter-span.ts';

/** NAL units by their headers, each with a byte behind it. */
function units(...headers: string[]): Uint8Array {
  return Buffer.from(headers.map((header) => `000001${header}80`).join(''), 'hex');
}

void test('parameter sets are found wherever they are, with what lies between them', () => {
  const span = [0x67, 0x80, 0, 0, 1, 0x68, 0x80];
  assert.deepEqual([...parameterSpan('h264', units('09', '67', '68', '65'))], span);
  assert.deepEqual([...parameterSpan('h264', units('65', '67', '68'))], span);
  assert.deepEqual([...parameterSpan('h265', units('4201', '2601'))], [0x42, 0x01, 0x80]);
  assert.deepEqual([...parameterSpan('h264', units('41', '06'))], []);
});

void test('those of further layers of H.265 are none', () => {
  assert.deepEqual([...parameterSpan('h265', units('4209', '4401', '440a'))], [0x44, 0x01, 0x80]);
});
