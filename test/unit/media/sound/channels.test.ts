import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withChannels } from '../../../../src/media/sound/channels.ts';

test('two channels are mixed at half their level, so that the loudest fit', () => {
  const stereo = Int16Array.of(32_767, 32_767, -32_768, -32_768, 1000, -1000, 100, 0);
  assert.deepEqual(withChannels(stereo, 2, 1), Int16Array.of(32_767, -32_768, 0, 50));
});

test('one channel is duplicated, and a matching number of channels stays', () => {
  const mono = Int16Array.of(1, -2);
  assert.deepEqual(withChannels(mono, 1, 2), Int16Array.of(1, 1, -2, -2));
  assert.equal(withChannels(mono, 1, 1), mono);
});
