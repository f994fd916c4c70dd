import assert from 'node:assert/strict';
import { test } from 'node:test';
import { soundEncodersOf } from '../../../../src/model/media/media-capacity.ts';

test('sound can be made as what every media process makes it, since a call may come to any', () => {
  assert.deepEqual(
    soundEncodersOf([{ soundEncoders: ['alaw', 'amr', 'pcm'] }, { soundEncoders: ['pcm', 'alaw', 'opus'] }]),
    ['alaw', 'pcm'],
  );
  assert.deepEqual(soundEncodersOf([{ soundEncoders: ['alaw'] }, { soundEncoders: [] }]), []);
});

test('what sound can be made as is not known before a media process has told', () => {
  assert.equal(soundEncodersOf([]), null);
});
