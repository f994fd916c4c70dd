import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PacketTranscoder } from '../../../../src/media/codec/packet-transcoder.ts';
import type { SoundShape } from '../../../../src/model/media/sound.ts';
import { openTone } from '../../../../src/tools/bridge/tone.ts';
import { engineTest } from '../../../support/engine-test.ts';
import { findTone } from '../../../support/sines.ts';

const shapes: readonly SoundShape[] = [
  { format: 'alaw', rate: 8000, channels: 1 },
  { format: 'alaw', rate: 16_000, channels: 2 },
  { format: 'pcm', rate: 16_000, channels: 1 },
  { format: 'opus', rate: 16_000, channels: 1 },
  { format: 'amr', rate: 8000, channels: 2 },
];
for (const shape of shapes)
  engineTest(
    `a tone as ${shape.format} with ${shape.channels} channels is 440 Hz to its decoder`,
    (engine) => {
      const tone = openTone(engine, shape);
      assert.ok(tone.ok);
      const decoder = new PacketTranscoder(engine);
      const target: SoundShape = { format: 'pcm', rate: 8000, channels: 1 };
      const samples = Array.from({ length: 25 }, (_, n) => {
        const payload = new Uint8Array(tone.value.packetAt(n * 20) ?? assert.fail('there is a packet'));
        const packet = { format: shape.format, timestampMs: n * 20, payload };
        return decoder.transcode(packet, shape, [target]).packets[0] ?? [];
      }).flatMap((made) => made.flatMap(({ payload }) => Array.from(new Int16Array(payload.buffer))));
      tone.value.close();
      decoder.close();
      const { level, snr } = findTone(Int16Array.from(samples.slice(800)), 8000, 440);
      assert.ok(Math.abs(level - 0.25) < 0.08 && snr > 12, `${level} ${snr}`);
    },
  );

test('without FFmpeg there is a tone as A-law and PCM, and a reason for the other formats', () => {
  const shape = { rate: 8000, channels: 1 } as const;
  for (const format of ['alaw', 'pcm'] as const) assert.equal(openTone(null, { ...shape, format }).ok, true);
  assert.deepEqual(openTone(null, { ...shape, format: 'opus' }), {
    ok: false,
    error: 'there is no opus without FFmpeg',
  });
});

engineTest('a tone without an encoder fails with a sentence as the reason', (engine) => {
  const tone = openTone(engine, { format: 'amr', rate: 16_000, channels: 1 });
  assert.ok(!tone.ok);
  assert.equal(tone.error, 'FFmpeg has no encoder of such sound');
});
