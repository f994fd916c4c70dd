/** Untrusted text is printed without any effect on the terminal. */
import { colourStates } from '../../../../src/cli/shell/state-colours.ts';
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { curlLine } from '../../../../src/cli/api/request-text.ts';
import { alignColumns, ProgressLine } from '../../../../src/cli/shell/output.ts';
import { showableLines } from '../../../../src/lib/showable-text.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';

const clearScreen = '\u001b[2J';

test('a table cell stays on one line, and columns stay aligned', () => {
  const lines = alignColumns([
    ['ID', 'STATE'],
    [`a\n${clearScreen}`, 'on'],
  ]).split('\n');
  assert.deepEqual(lines, ['ID                STATE', 'a\\u000a\\u001b[2J  on']);
});

test('control characters in a body are quoted so that a shell reads them', () => {
  const line = curlLine('POST', 'http://127.0.0.1/v1', { 'Content-Length': '1' }, "it's \u202e\\");
  assert.match(showableLines(line), /--data-binary \$'it\\'s \\u202e\\\\'$/);
});

class Screen {
  readonly isTTY: boolean;
  readonly columns: number;
  written = '';

  constructor(isTTY: boolean, columns = 10) {
    this.isTTY = isTTY;
    this.columns = columns;
  }

  write(text: string): void {
    this.written += text;
  }
}

const clear = '\r\u001b[K';

test('a terminal has one line that is overwritten', () => {
  const [screen, clock] = [new Screen(true), new DrivenClock()];
  const line = new ProgressLine(screen, clock);
  line.show('one');
  line.show('too soon');
  clock.advance(100);
  line.show('two');
  line.clear();
  assert.equal(screen.written, `${clear}one${clear}two${clear}`);
});

test('whole lines are printed above the progress line, which is redrawn', () => {
  const screen = new Screen(true);
  const line = new ProgressLine(screen, new DrivenClock());
  line.show('half way');
  line.above(() => screen.write('woken\n'));
  assert.equal(screen.written, `${clear}half way${clear}woken\nhalf way`);
});

test('a file gets a plain line every five seconds, and nothing to clear', () => {
  const [screen, clock] = [new Screen(false), new DrivenClock()];
  const line = new ProgressLine(screen, clock);
  line.show('at once');
  clock.advance(5000);
  line.show('one');
  line.above(() => screen.write('woken\n'));
  line.clear();
  assert.equal(screen.written, 'one\nwoken\n');
});

test('a line too long for the terminal is cut, unless its width is unknown', () => {
  for (const [columns, shown] of [
    [10, '012345678'],
    [0, '0123456789abc'],
  ] as const) {
    const screen = new Screen(true, columns);
    new ProgressLine(screen, new DrivenClock()).show('0123456789abc');
    assert.equal(screen.written, `${clear}${shown}`);
  }
});

test('a terminal colours states at the start of a cell or in the type of an event, and nothing else', () => {
  const [green, red, end] = ['\u001b[32m', '\u001b[31m', '\u001b[39m'];
  assert.equal(
    colourStates('signal  online since 12:00\ncore  up    1'),
    `signal  ${green}online${end} since 12:00\ncore  ${green}up${end}    1`,
  );
  assert.equal(colourStates('t  device.sleep.offline  DOOR'), `t  device.sleep.${red}offline${end}  DOOR`);
  assert.equal(colourStates('the update is on time, upon failed'), 'the update is on time, upon failed');
});
