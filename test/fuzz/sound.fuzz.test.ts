/** Broken packets of sound between good ones; the canaries are transcoders with faults a person might make. */
import assert from 'node:assert/strict';
import type { PacketTranscoder } from '../../src/media/codec/packet-transcoder.ts';
import { engineTest } from '../support/engine-test.ts';
import { fuzzSound, makeTranscoder, type FuzzedTranscoder } from '../support/sound-fuzz.ts';

const seed = Number(process.env['FUZZ_SEED'] ?? 2);

engineTest(
  'broken packets of sound crash nothing, leave nothing behind, and spoil no good packet behind them',
  (engine) => {
    const { packets, decoded, comparisons } = fuzzSound({ engine, seed, sessions: 25 });
    // Noise is A-law and PCM as well, and a bit of Opus that is flipped is not always seen.
    assert.ok(comparisons > 0 && decoded > 0 && decoded < packets);
  },
);

engineTest(
  'the fuzzer notices a transcoder that keeps to the source it had before a broken packet',
  (engine) => {
    const open = (): FuzzedTranscoder => {
      const transcoder = makeTranscoder(engine);
      let last: Parameters<PacketTranscoder['take']>[1] | null = null;
      return {
        take: (packet, assumed, targets) => {
          const result = transcoder.take(packet, last ?? assumed, targets);
          last = result.drop === 'undecodable' ? assumed : null;
          return result;
        },
        close: () => transcoder.close(),
      };
    };
    assert.throws(() => fuzzSound({ engine, seed, sessions: 25, open }), /seed \d+, session \d+/);
  },
);

engineTest('the fuzzer notices a transcoder whose natives add up', (engine) => {
  const leaked: PacketTranscoder[] = [];
  const open = (): FuzzedTranscoder => {
    const transcoder = makeTranscoder(engine);
    leaked.push(transcoder);
    return { take: transcoder.take.bind(transcoder), close: () => undefined };
  };
  assert.throws(() => fuzzSound({ engine, seed, sessions: 25, open }), /natives/);
  for (const transcoder of leaked) transcoder.close();
});
