import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { SystemClock } from '../../../../src/lib/system-clock.ts';
import type { FrameResult, PictureShape, SourceFrame } from '../../../../src/model/media/picture.ts';
import { jpegSize } from '../../../../src/media/geometry/jpeg.ts';
import { TranscoderPool } from '../../../../src/media/transcoding/transcoder-pool.ts';
import { FakeLog } from '../../../support/fakes.ts';
import { describeFrame } from '../../../../src/media/geometry/source-frame.ts';

const need = { request: { width: 640, height: 480 }, maxFps: 15 };
const shapes: readonly PictureShape[] = [
  { mode: 'fit_screen', screen: { width: 160, height: 100 } },
  { mode: 'fill_screen', screen: { width: 160, height: 100 } },
];

/** A real thread with the real engine; the test is skipped where there is none. */
async function open(context: TestContext): Promise<TranscoderPool | null> {
  const log = new FakeLog();
  const pool = await TranscoderPool.open({
    threads: 1,
    loadMax: 0.85,
    quality: 80,
    maxFps: 15,
    sourceMax: { width: 1920, height: 1080 },
    clock: new SystemClock(),
    log,
    onWedged: assert.fail,
  });
  context.after(() => pool.close());
  if (pool.refusalOf(need) !== 'engine') return pool;
  context.skip(log.lines.at(-1)?.message);
  return null;
}

function frameOf(width: number, height: number): SourceFrame {
  const payload = new Uint8Array((width * height * 3) / 2).fill(128);
  return { format: 'i420', isKeyFrame: true, width, height, payload };
}

function take(pool: TranscoderPool, frames: readonly SourceFrame[]): Promise<FrameResult[]> {
  const opened = pool.open(need);
  const transcoder = opened.ok ? opened.value : assert.fail(opened.error);
  return inTurn(frames, (frame) => transcoder.take(frame, shapes, describeFrame(frame))).finally(() =>
    transcoder.close(),
  );
}

async function inTurn<From, To>(all: readonly From[], act: (one: From) => Promise<To>): Promise<To[]> {
  const done: To[] = [];
  for (const one of all) done.push(await act(one));
  return done;
}

function sizes({ pictures }: FrameResult): unknown[] {
  return pictures.map((picture) => (typeof picture === 'string' ? picture : jpegSize(picture.bytes)));
}

test('a worker makes the pictures of a frame, also after its size changed, and of two sessions at once', async (context) => {
  const pool = await open(context);
  if (pool === null) return;

  const [upright, both] = await Promise.all([
    take(pool, [frameOf(240, 320)]),
    take(pool, [frameOf(640, 480), frameOf(240, 320)]),
  ]);

  assert.deepEqual([...upright, ...both].map(sizes), [
    [
      { width: 74, height: 100 },
      { width: 160, height: 100 },
    ],
    [
      { width: 132, height: 100 },
      { width: 160, height: 100 },
    ],
    [
      { width: 74, height: 100 },
      { width: 160, height: 100 },
    ],
  ]);
});

const nothingNative = { packets: 0, frames: 0, codecContexts: 0, graphs: 0, resamplers: 0, inputs: 0 };

test('a worker makes Opus of A-law, and the end of the session leaves nothing native behind', async (context) => {
  const pool = await open(context);
  if (pool === null) return;
  const opened = pool.openSound();
  const transcoder = opened.ok ? opened.value : assert.fail(opened.error);
  const payload = new Uint8Array(320).fill(0xd5);
  const opus = { format: 'opus', rate: 48_000, channels: 1 } as const;

  const { packets } = await transcoder.take(
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

test('a session that ends leaves nothing native behind', async (context) => {
  const pool = await open(context);
  if (pool === null) return;
  const opened = pool.open(need);
  const transcoder = opened.ok ? opened.value : assert.fail(opened.error);
  const frame = frameOf(640, 480);
  await transcoder.take(frame, shapes, describeFrame(frame));
  const [busy] = await pool.countNatives();
  assert.ok((busy?.codecContexts ?? 0) > 0);

  transcoder.close();

  const [idle] = await pool.countNatives();
  assert.deepEqual(idle, nothingNative);
});
