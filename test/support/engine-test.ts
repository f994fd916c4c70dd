/** Tests that decode and encode for real. Only where node-av has no binary may they be skipped, and they say why. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { openEngine, type Engine } from '../../src/media/codec/engine.ts';
import type { FrameTranscoder } from '../../src/media/codec/frame-transcoder.ts';
import { makeTranscoder } from './coded-frames.ts';

const opened = await openEngine();

/** Where the lock file brings a binary along, its absence is a fault and no reason to skip. */
const isExpected = process.platform === 'linux' && process.arch === 'x64' && hasGlibc();

function hasGlibc(): boolean {
  const report = process.report.getReport() as { header?: { glibcVersionRuntime?: string } };
  return report.header?.glibcVersionRuntime !== undefined;
}

export function engineTest(
  name: string,
  run: (engine: Engine, t: TestContext) => void | Promise<void>,
): void {
  const skip = !opened.ok && !isExpected ? opened.error : false;
  void test(name, { skip }, async (t) => {
    assert(opened.ok, opened.ok ? '' : opened.error);
    await run(opened.value, t);
  });
}

/** A test with a transcoder of its own, which is closed behind it. */
export function transcoderTest(
  name: string,
  run: (transcoder: FrameTranscoder, engine: Engine) => void | Promise<void>,
): void {
  engineTest(name, async (engine, t) => {
    const transcoder = makeTranscoder(engine);
    t.after(() => transcoder.close());
    await run(transcoder, engine);
  });
}
