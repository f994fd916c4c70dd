/** Tests that decode and encode for real. They are skipped, with a reason, only where node-av has no binary. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { openEngine, type Engine } from '../../src/media/codec/engine.ts';
import type { FrameTranscoder } from '../../src/media/codec/frame-transcoder.ts';
import { makeTranscoder } from './coded-frames.ts';

const opened = await openEngine();

/** On these platforms the lock file installs a binary, so its absence is a failure. */
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
