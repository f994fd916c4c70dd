import assert from 'node:assert/strict';
import { test } from 'node:test';
import { holdsPicture, parameterSpan } from '../../../src/codec/coded-units.ts';

/** NAL units by their headers, each with a byte behind it. */
function units(...headers: number[]): Uint8Array {
  return Uint8Array.from(headers.flatMap((header) => [0, 0, 1, header, 0x80]));
}

void test('slices are a picture; parameter sets, messages and delimiters are none', () => {
  assert(holdsPicture('h264', units(0x67, 0x68, 0x65)));
  assert(holdsPicture('h264', units(0x09, 0x41)));
  assert(!holdsPicture('h264', units(0x09, 0x67, 0x68, 0x06)));
  assert(holdsPicture('h265', units(0x40, 0x42, 0x44, 0x26)));
  assert(!holdsPicture('h265', units(0x40, 0x42, 0x44, 0x4e)));
  assert(!holdsPicture('h264', new Uint8Array(0)));
});

void test('parameter sets are found wherever they are, with what lies between them', () => {
  const span = [0x67, 0x80, 0, 0, 1, 0x68, 0x80];
  assert.deepEqual([...parameterSpan('h264', units(0x09, 0x67, 0x68, 0x65))], span);
  assert.deepEqual([...parameterSpan('h264', units(0x65, 0x67, 0x68))], span);
  assert.deepEqual([...parameterSpan('h265', units(0x42, 0x26))], [0x42, 0x80]);
  assert.deepEqual([...parameterSpan('h264', units(0x41, 0x06))], []);
});
