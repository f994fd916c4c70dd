import assert from 'node:assert/strict';
import { test } from 'node:test';
import { framePayload } from '../../../../src/protocol/media/frame-header.ts';

const bytes = Uint8Array.from({ length: 40 }, (_, i) => i);

test('the payload of a message in memory of its own is not copied', () => {
  const message = Buffer.from(bytes.slice().buffer);
  const payload = framePayload(message);
  assert.deepEqual(payload, bytes.subarray(12));
  assert.equal(payload.buffer, message.buffer);
});

const views: readonly (readonly [string, number, number])[] = [
  ['behind another', 4, 40],
  ['before another', 0, 36],
  ['between others', 4, 36],
];
for (const [place, from, to] of views)
  test(`the payload of a message that stands ${place} is copied without them`, () => {
    const memory = bytes.slice().buffer;
    const payload = framePayload(Buffer.from(memory, from, to - from));
    assert.deepEqual(payload, bytes.slice(from + 12, to));
    structuredClone(payload, { transfer: [payload.buffer] });
    assert.equal(memory.byteLength, 40);
  });
