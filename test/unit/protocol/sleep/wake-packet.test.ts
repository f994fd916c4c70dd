import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeWakePacket, wakePacketBytes } from '../../../../src/protocol/sleep/wake-packet.ts';

test('the fixed packet is always the same object', () => {
  assert.equal(encodeWakePacket(null), encodeWakePacket(null));
  assert.equal(encodeWakePacket(null).length, wakePacketBytes);
});

test('custom data goes into a packet of its own and leaves the fixed one alone', () => {
  encodeWakePacket(Buffer.from([0xff, 0xff]));
  assert.equal(encodeWakePacket(null).toString('hex'), '983b16f8f39c0000');
});

test('custom data of another length fails an assertion', () => {
  assert.throws(() => encodeWakePacket(Buffer.alloc(3)), /two bytes/);
});
