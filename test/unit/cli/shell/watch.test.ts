import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OpsUnavailableError } from '../../../../src/cli/admin/ops-client.ts';
import { CommandContext } from '../../../../src/cli/shell/command-context.ts';
import { CommandError } from '../../../../src/cli/shell/command-error.ts';
import { ProcessOutput, type Output } from '../../../../src/cli/shell/output.ts';
import { Watch, type AnswerOnce, type WatchScreen } from '../../../../src/cli/shell/watch.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';

const clearBelow = '\r\u001b[J';
const everySeconds = 5;

class Screen implements WatchScreen {
  readonly isTTY: boolean;
  readonly columns = 60;
  readonly rows: number;
  readonly written: string[] = [];

  constructor(isTTY: boolean, rows = 24) {
    this.isTTY = isTTY;
    this.rows = rows;
  }

  write(text: string): void {
    this.written.push(text);
  }
}

interface Told {
  readonly answers: unknown[];
  readonly warnings: string[];
}

function jsonOutput(): Output & Told {
  const [answers, warnings]: [unknown[], string[]] = [[], []];
  return {
    wantsJson: true,
    answers,
    warnings,
    answer: (json) => void answers.push(json),
    refusal: () => assert.fail('a refusal would end in exit code 1'),
    remark: () => undefined,
    warning: (text) => void warnings.push(text),
  };
}

/** Runs the watch until as many answers were asked for as there are in `script`; the clock goes on between them. */
async function watched(
  screen: Screen,
  script: readonly AnswerOnce[],
  output: Output = new ProcessOutput(false),
): Promise<void> {
  const clock = new DrivenClock();
  const end = new AbortController();
  const context = new CommandContext({}, {}, { clock, output, confirm: null, openDialogue: null });
  const left = [...script];
  const answer: AnswerOnce = async (again, signal) => {
    // Once the pause is armed.
    setImmediate(() => (left.length === 0 ? end.abort() : clock.advance(everySeconds * 1000)));
    await left.shift()?.(again, signal);
  };
  await new Watch(context, screen, everySeconds).run(answer, end.signal);
}

const says =
  (...lines: readonly string[]): AnswerOnce =>
  async ({ output }) =>
    output.answer({ lines }, lines.join('\n'));

const away: AnswerOnce = () =>
  Promise.reject(new OpsUnavailableError('no answer: nothing listens there', 'start it'));

test('on a terminal each answer is drawn over the one before', async () => {
  const screen = new Screen(true);
  await watched(screen, [says('one', 'two'), says('three')]);
  assert.deepEqual(screen.written, [
    `${clearBelow}2026-11-20T08:30:00Z, every 5 s\none\ntwo\n`,
    `\u001b[3A${clearBelow}2026-11-20T08:30:05Z, every 5 s\nthree\n`,
  ]);
});

test('what a terminal has no rows for is counted, and a line is cut to its width', async () => {
  const screen = new Screen(true, 4);
  await watched(screen, [says('a'.repeat(100), 'b', 'c', 'd')]);
  const [heading, first, more, ...rest] = (screen.written[0] ?? '').split('\n');
  assert.match(heading ?? '', /every 5 s$/);
  assert.deepEqual([first, rest], ['a'.repeat(59), ['']]);
  assert.match(more ?? '', /^… 3 more lines/);
});

test('in a pipe each answer is a block with its moment and a blank line', async () => {
  const screen = new Screen(false);
  await watched(screen, [says('one'), says('two')]);
  assert.equal(
    screen.written.join(''),
    '2026-11-20T08:30:00Z, every 5 s\none\n\n2026-11-20T08:30:05Z, every 5 s\ntwo\n\n',
  );
});

test('a server that cannot be reached is told of, with what to do, and asked again', async () => {
  const screen = new Screen(false);
  await watched(screen, [says('one'), away, says('back')]);
  const blocks = screen.written.map((block) => block.split('\n').slice(1, -2));
  assert.deepEqual(blocks, [
    ['one'],
    ['not reachable, and asked again:', 'no answer: nothing listens there', '  start it'],
    ['back'],
  ]);
});

test('with JSON an answer is a line, and what is in its way is told once', async () => {
  const output = jsonOutput();
  const screen = new Screen(true);
  await watched(screen, [says('one'), away, away, says('two'), away], output);
  assert.deepEqual(output.answers, [{ lines: ['one'] }, { lines: ['two'] }]);
  const told = 'no answer: nothing listens there: start it';
  assert.deepEqual(output.warnings, [told, told]);
  assert.deepEqual(screen.written, []);
});

test('a refusal and a warning are part of the block', async () => {
  const screen = new Screen(false);
  const refuse: AnswerOnce = async ({ output }) => {
    output.warning('nobody is checked');
    output.refusal({}, 'refused: not yours (40301)');
    output.remark('there is more');
  };
  await watched(screen, [refuse]);
  const [, ...lines] = (screen.written[0] ?? '').split('\n');
  assert.deepEqual(lines.slice(0, 3), [
    'warning: nobody is checked',
    'refused: not yours (40301)',
    'there is more',
  ]);
});

test('what would be refused again ends the watch', async () => {
  const refused: AnswerOnce = () => Promise.reject(new CommandError('no device "D" in the registry'));
  await assert.rejects(watched(new Screen(false), [refused]), { message: 'no device "D" in the registry' });
});

test('a server that does not answer is given up after 10 s, and one that is asked when Ctrl-C comes at once', async () => {
  const clock = new DrivenClock();
  const screen = new Screen(false);
  const end = new AbortController();
  const context = new CommandContext({}, {}, { clock, output: new ProcessOutput(false) });
  let asked = 0;
  const silent: AnswerOnce = (_context, signal) =>
    new Promise((_resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason as Error));
      asked += 1;
      if (asked === 1) clock.advance(10_000);
      else end.abort();
    });
  setImmediate(() => clock.advance(everySeconds * 1000));
  await new Watch(context, screen, everySeconds).run(silent, end.signal);
  assert.equal(asked, 2);
  assert.match(screen.written.join(''), /\nno answer within 10 seconds\n\n$/);
});
