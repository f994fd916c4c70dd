import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProgressLine } from '../../../../src/cli/shell/progress-line.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';

class Screen {
  readonly isTTY: boolean;
  written = '';

  constructor(isTTY: boolean) {
    this.isTTY = isTTY;
  }

  write(text: string): void {
    this.written += text;
  }
}

const clear = '\r\u001b[K';

test('a terminal has one line that is written over', () => {
  const [screen, clock] = [new Screen(true), new DrivenClock()];
  const line = new ProgressLine(screen, clock);
  line.show('one');
  line.show('too soon');
  clock.advance(100);
  line.show('two');
  line.clear();
  assert.equal(screen.written, `${clear}one${clear}two${clear}`);
});

test('whole lines go above the line, which is there again below them', () => {
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
