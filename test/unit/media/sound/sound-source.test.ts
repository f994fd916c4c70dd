import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeSound, type SoundSource } from '../../../../src/media/sound/sound-source.ts';
import type { AudioFrameFormat } from '../../../../src/model/media/sound.ts';

const wide = { rate: 16_000, channels: 2 };

function source(
  format: AudioFrameFormat,
  bytes: readonly number[],
  last: SoundSource | null = null,
  assumed = wide,
): unknown {
  const found = describeSound({ format, timestampMs: 0, payload: Uint8Array.from(bytes) }, assumed, last);
  return found && `${found.format} ${found.rate}/${found.channels}`;
}

test('A-law and PCM have the assumed shape, if it is supported', () => {
  assert.equal(source('alaw', [0]), 'alaw 16000/2');
  assert.equal(source('pcm', [0], null, { rate: 48_000, channels: 1 }), 'pcm 48000/1');
  for (const assumed of [
    { rate: 44_100, channels: 1 },
    { rate: 8000, channels: 0 },
    { rate: 8000, channels: 3 },
  ])
    assert.equal(source('pcm', [0], null, assumed), null);
  assert.equal(source('alaw', [0], null, { rate: 48_000, channels: 1 }), null);
  assert.equal(source('alaw', []), null);
});

test('Opus has its own channels, and a source that once had two is decoded with two', () => {
  const [mono, stereo] = [[0b0000_1000], [0b0000_1100]];
  assert.equal(source('opus', mono), 'opus 48000/1');
  assert.equal(source('opus', stereo), 'opus 48000/2');
  assert.equal(source('opus', mono, { format: 'opus', rate: 48_000, channels: 2 }), 'opus 48000/2');
  assert.equal(source('opus', stereo, { format: 'opus', rate: 48_000, channels: 1 }), 'opus 48000/2');
});

test('AMR has the band of its frames, and ambiguous ones that of the previous packet', () => {
  const nothing = [0x7c];
  assert.equal(source('amr', [0x3c, ...Array<number>(31).fill(0)]), 'amr_narrow 8000/1');
  assert.equal(source('amr', nothing), 'amr_wide 16000/1');
  assert.equal(source('amr', nothing, null, { rate: 8000, channels: 1 }), 'amr_narrow 8000/1');
  assert.equal(
    source('amr', nothing, { format: 'amr_narrow', rate: 8000, channels: 1 }),
    'amr_narrow 8000/1',
  );
  assert.equal(source('amr', [1, 2, 3]), null);
});
