import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LiveTable } from '../../../../src/tools/simulator/fleet-table.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';

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

const clear = '\r\u001b[J';

test('a terminal has the lines drawn over those that stood there', () => {
  const screen = new Screen(true);
  const table = new LiveTable(screen, new DrivenClock());
  table.show(['one', 'two'], 'plain');
  table.show(['three'], 'plain');
  table.show(['four'], 'plain');
  assert.equal(screen.written, `${clear}one\ntwo\n\u001b[2A${clear}three\n\u001b[1A${clear}four\n`);
});

test('a line that the terminal would break is cut', () => {
  const screen = new Screen(true);
  new LiveTable(screen, new DrivenClock()).show(['0123456789abc'], 'plain');
  assert.equal(screen.written, `${clear}012345678\n`);
});

test('a terminal that does not know its width gets whole lines', () => {
  const screen = new Screen(true, 0);
  new LiveTable(screen, new DrivenClock()).show(['0123456789abc'], 'plain');
  assert.equal(screen.written, `${clear}0123456789abc\n`);
});

test('a file gets the plain line every five seconds', () => {
  const [screen, clock] = [new Screen(false), new DrivenClock()];
  const table = new LiveTable(screen, clock);
  for (let second = 0; second < 11; second += 1) {
    table.show(['drawn'], `after ${second} s`);
    clock.advance(1000);
  }
  assert.equal(screen.written, 'after 5 s\nafter 10 s\n');
});
