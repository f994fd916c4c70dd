import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DemoInterrupted, Timeline } from '../../../../src/tools/demo/timeline.ts';
import { CommandContext } from '../../../../src/cli/shell/command-context.ts';
import type { Output } from '../../../../src/cli/shell/output.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { nextTurn } from '../../../support/event-loop.ts';

function openTimeline(stepMs = 0, signal = new AbortController().signal) {
  const clock = new DrivenClock();
  const answers: { readonly json: unknown; readonly text: string }[] = [];
  const output: Output = {
    wantsJson: false,
    answer: (json, text) => void answers.push({ json, text }),
    refusal: () => undefined,
    remark: () => undefined,
    warning: () => undefined,
  };
  const timeline = new Timeline(new CommandContext({}, {}, { clock, output }), stepMs, signal);
  return { clock, answers, timeline };
}

test('without pauses every step is shown at once, by chapters', async () => {
  const { timeline, answers } = openTimeline();
  await timeline.chapter('Once');
  timeline.step('module', 'logged in', { times: 1 }, ['  more of it']);
  await timeline.end('it went well');
  const [chapter, step, end] = answers;
  assert.deepEqual(chapter, { json: { chapter: 'Once' }, text: '\n1. Once' });
  assert.match(step?.text ?? '', /^\d\d:30:00\.000 {2}module {6}logged in\n {28}more of it$/);
  const at = '2026-11-20T08:30:00.000Z';
  assert.deepEqual(step?.json, { at, who: 'module', what: 'logged in', times: 1 });
  assert.match(end?.text ?? '', /demo {8}it went well$/);
});

test('a chapter starts when all earlier steps are shown, one at a time', async () => {
  const { timeline, answers, clock } = openTimeline(100);
  timeline.step('module', 'first');
  timeline.step('module', 'second');
  let hasBegun = false;
  const chapter = timeline.chapter('Then').then(() => (hasBegun = true));
  for (const expected of [/first$/, /second$/, /1\. Then$/]) {
    await nextTurn();
    assert.match(answers.at(-1)?.text ?? '', expected);
    assert.equal(hasBegun, false);
    clock.advance(100);
  }
  await chapter;
});

test('an interrupted demo has no more pauses, and starts no more chapters', async () => {
  const interruption = new AbortController();
  const { timeline, answers } = openTimeline(100, interruption.signal);
  timeline.step('module', 'first');
  const chapter = timeline.chapter('Then');
  interruption.abort();
  await assert.rejects(chapter, DemoInterrupted);
  timeline.step('server', 'removed');
  await timeline.end('interrupted');
  assert.deepEqual(
    answers.slice(-2).map(({ text }) => text.split('  ').at(-1)),
    ['removed', 'interrupted'],
  );
});
