import assert from 'node:assert/strict';
import { test } from 'node:test';
import { soundEncodersOf } from '../../../../src/model/media/media-capacity.ts';

test('the sound encoders are those of every media process, since a call may go to any', () => {
  assert.deepEqual(
    soundEncodersOf([{ soundEncoders: ['alaw', 'amr', 'pcm'] }, { soundEncoders: ['pcm', 'alaw', 'opus'] }]),
    ['alaw', 'pcm'],
  );
  assert.deepEqual(soundEncodersOf([{ soundEncoders: ['alaw'] }, { soundEncoders: [] }]), []);
});

test('the sound encoders are unknown before a media process reports', () => {
  assert.equal(soundEncodersOf([]), null);
});
