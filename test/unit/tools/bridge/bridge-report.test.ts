import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noPlaybackTally } from '../../../../src/tools/bridge/bridge-playback.ts';
import { BridgeReport } from '../../../../src/tools/bridge/bridge-report.ts';
import { noLegCounts } from '../../../../src/tools/simulator/leg-counts.ts';
import { type Output, ProgressLine } from '../../../../src/cli/shell/output.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';

function stage({ wantsJson = false } = {}) {
  const clock = new DrivenClock();
  const answers: { readonly json: Record<string, unknown>; readonly text: string }[] = [];
  const screen = { isTTY: true, written: '', write: (text: string) => (screen.written += text) };
  const output: Output = {
    wantsJson,
    answer: (json, text) => void answers.push({ json: json as Record<string, unknown>, text }),
    refusal: () => undefined,
    remark: () => undefined,
    warning: () => undefined,
  };
  const [tally, counts] = [noPlaybackTally(), noLegCounts()];
  const newProgressLine = (): ProgressLine => new ProgressLine(screen, clock);
  const report = new BridgeReport({ clock, output, newProgressLine }, tally, counts);
  const play = (frames: number): void => {
    tally.frames += frames;
    tally.bytes += frames * 1000;
    tally.size = { width: 320, height: 240 };
    clock.advance(1000);
    report.progress();
  };
  return { clock, answers, screen, tally, counts, report, play };
}

test('machines get each step, the figures of each second, and a summary', () => {
  const { answers, tally, counts, report, play } = stage({ wantsJson: true });
  report.notify('start', { session: 's' }, 'not for machines');
  play(15);
  counts.keyFramesWanted += 1;
  counts.texts += 3;
  tally.keyFrames += 2;
  play(10);
  report.trouble('lost');
  report.summary(1);
  const [start, first, second, trouble, summary] = answers.map(({ json }) => json);
  assert.deepEqual(start, { event: 'start', at: '2026-11-20T08:30:00.000Z', session: 's' });
  assert.deepEqual(
    [first, second].map((figures) => [
      figures?.['event'],
      figures?.['frames_per_second'],
      figures?.['bytes_per_second'],
      figures?.['frames'],
      figures?.['size'],
    ]),
    [
      ['figures', 15, 15_000, 15, '320x240'],
      ['figures', 10, 10_000, 25, '320x240'],
    ],
  );
  assert.equal(trouble?.['reason'], 'lost');
  assert.deepEqual(
    [summary?.['event'], summary?.['calls'], summary?.['seconds'], summary?.['key_frames_wanted']],
    ['summary', 1, 2, 1],
  );
  assert.deepEqual([summary?.['key_frames'], summary?.['messages']], [2, 3]);
});

test('a terminal has one line that stays, with each step above it', () => {
  const { answers, screen, counts, report, play } = stage();
  counts.keyFramesWanted += 2;
  play(15);
  assert.match(screen.written, /320×240 {2}15 frames\/s {2}15\.0 kB\/s {2}2 key frames asked/);
  report.notify('state', {}, 'told: the call is ended');
  assert.match(answers[0]?.text ?? '', /^2026-11-20T08:30:01\.000Z {2}told: the call is ended$/);
  report.summary(1);
  assert.match(answers[1]?.text ?? '', /^1 call in 1 s: 15 frames \(0 key frames, 2 asked for, 0 skipped\)/);
});

test('people are spared what comes too often, and machines are not', () => {
  for (const wantsJson of [false, true]) {
    const { answers, report } = stage({ wantsJson });
    for (let count = 0; count < 100; count += 1)
      report.notify('key_frame_wanted', {}, 'a key frame is wanted');
    assert.equal(answers.length, wantsJson ? 100 : 40);
  }
});
