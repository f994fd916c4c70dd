import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeWakePacket, wakePacketBytes } from '../../../../src/protocol/sleep/wake-packet.ts';

test('the fixed packet costs nothing: it is always the same one', () => {
  assert.equal(encodeWakePacket(null), encodeWakePacket(null));
  assert.equal(encodeWakePacket(null).length, wakePacketBytes);
});

test('custom data goes into a packet of its own and leaves the fixed one alone', () => {
  encodeWakePacket(Buffer.from([0xff, 0xff]));
  assert.equal(encodeWakePacket(null).toString('hex'), '983b16f8f39c0000');
});

test('custom data of another length is a mistake of the programmer', () => {
  assert.throws(() => encodeWakePacket(Buffer.alloc(3)), /two bytes/);
});
