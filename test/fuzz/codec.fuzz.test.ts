/**
 * A few seconds of the soak's work: damaged frames between good ones. The canary is a transcoder with a plausible fault, which
 * the fuzzer has to catch.
 */
import assert from 'node:assert/strict';
import { SystemClock } from '../../src/lib/system-clock.ts';
import type { FrameTranscoder } from '../../src/media/codec/frame-transcoder.ts';
import type { FrameResult } from '../../src/model/media/picture.ts';
import { fuzzCodec } from '../support/codec-fuzz.ts';
import { makeTranscoder } from '../support/coded-frames.ts';
import { engineTest } from '../support/engine-test.ts';

const seed = Number(process.env['FUZZ_SEED'] ?? 20_261_121);
const clock = new SystemClock();

engineTest(
  'broken frames crash nothing, leave nothing behind, and spoil no good frame behind them',
  async (engine) => {
    const { frames, pictured, comparisons } = await fuzzCodec({ engine, seed, clock, seconds: 3 });
    // Some damaged frames decode: a flipped bit is not always detectable.
    assert(frames > 0 && comparisons > 0 && pictured < frames);
  },
);

/** After a damaged frame, shows its last picture again. */
class StickyTranscoder {
  readonly #transcoder: FrameTranscoder;
  #last: FrameResult['pictures'] = [];
  #wasBroken = false;

  constructor(transcoder: FrameTranscoder) {
    this.#transcoder = transcoder;
  }

  transcode(...input: Parameters<FrameTranscoder['transcode']>): FrameResult {
    const result = this.#transcoder.transcode(...input);
    const shown = this.#wasBroken ? this.#last : result.pictures;
    this.#wasBroken = result.drop !== null;
    if (result.pictures.length > 0) this.#last = result.pictures;
    return { ...result, pictures: result.source === null ? [] : shown };
  }

  close(): void {
    this.#transcoder.close();
  }
}

engineTest(
  'the fuzzer notices a transcoder that shows an old picture behind a broken frame',
  async (engine) => {
    await assert.rejects(
      () =>
        fuzzCodec({
          engine,
          seed,
          clock,
          seconds: 30,
          open: () => new StickyTranscoder(makeTranscoder(engine)),
        }),
      /seed \d+, session 1/,
    );
  },
);

engineTest('the fuzzer notices a transcoder whose natives add up', async (engine) => {
  const leaked: FrameTranscoder[] = [];
  const open = () => {
    const transcoder = makeTranscoder(engine);
    leaked.push(transcoder);
    return { transcode: transcoder.transcode.bind(transcoder), close: () => undefined };
  };
  await assert.rejects(() => fuzzCodec({ engine, seed, clock, seconds: 30, open }), /natives/);
  for (const transcoder of leaked) transcoder.close();
});
