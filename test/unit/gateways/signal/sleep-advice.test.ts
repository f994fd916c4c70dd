import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sleepAdvice } from '../../../../src/gateways/signal/sleep-advice.ts';

test('a controller is told the packet that wakes its module, and the pattern all of them share', () => {
  const { wakePattern, wakeupPacket, servers } = sleepAdvice(['a:1', 'b:2']);
  assert.deepEqual([wakePattern, wakeupPacket], ['983b16f8f39c', '983b16f8f39c0000']);
  assert.deepEqual(servers, ['a:1', 'b:2']);
});
