import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { SystemClock } from '../../../../src/lib/system-clock.ts';
import { TranscoderPool } from '../../../../src/media/transcoding/transcoder-pool.ts';
import { FakeLog } from '../../../support/fakes.ts';

const need = { request: { width: 640, height: 480 }, maxFps: 15 };
/** A real thread with the real engine; skipped without one. */
async function open(context: TestContext): Promise<TranscoderPool | null> {
  const log = new FakeLog();
  const pool = new TranscoderPool({
    threads: 1,
    loadMax: 0.85,
    quality: 80,
    maxFps: 15,
    sourceMax: { width: 1920, height: 1080 },
    clock: new SystemClock(),
    log,
    onWedged: assert.fail,
  });
  await pool.start();
  context.after(() => pool.close());
  if (pool.refusalOf(need) !== 'engine') return pool;
  context.skip(log.lines.at(-1)?.message);
  return null;
}

const nothingNative = { packets: 0, frames: 0, codecContexts: 0, graphs: 0, resamplers: 0, inputs: 0 };

test('a worker makes Opus of A-law, and the end of the session leaves no native object', async (context) => {
  const pool = await open(context);
  if (pool === null) return;
  const opened = pool.openSound();
  const transcoder = opened.ok ? opened.value : assert.fail(opened.error);
  const payload = new Uint8Array(320).fill(0xd5);
  const opus = { format: 'opus', rate: 48_000, channels: 1 } as const;

  const { packets } = await transcoder.transcode(
    { format: 'alaw', timestampMs: 7, payload },
    { rate: 8000, channels: 1 },
    [opus],
  );
  transcoder.close();

  assert.deepEqual(
    packets.map((made) => made.map(({ timestampMs }) => timestampMs)),
    [[7, 27]],
  );
  assert.equal(payload.length, 320);
  assert.deepEqual(pool.soundEncoders, ['alaw', 'amr', 'opus', 'pcm']);
  assert.deepEqual(await pool.countNatives(), [nothingNative]);
});
