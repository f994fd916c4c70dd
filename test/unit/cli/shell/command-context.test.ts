import assert from 'node:assert/strict';
import { test } from 'node:test';
import { interruptUnread, untilInterrupted } from '../../../../src/cli/shell/command-context.ts';

/** Calls `end` once the work has started; resolves when the work is aborted. */
async function interrupted(end: () => void): Promise<void> {
  await untilInterrupted(async (signal) => {
    const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve));
    end();
    assert.ok(signal.aborted, 'the work goes on');
    await aborted;
  });
}

test('Ctrl-C, a closed terminal and an output without a reader abort work that can be undone', async (t) => {
  const { isTTY } = process.stdout;
  t.after(() => Object.assign(process.stdout, { isTTY }));
  process.stdout.isTTY = true;
  await interrupted(() => process.emit('SIGINT', 'SIGINT'));
  await interrupted(() => process.emit('SIGHUP', 'SIGHUP'));
  await interrupted(() => assert.equal(interruptUnread(), true));
  assert.equal(interruptUnread(), false, 'nothing is under way');
});

test('without a terminal the program does not handle SIGHUP, which nohup may ignore', async (t) => {
  const { isTTY } = process.stdout;
  t.after(() => Object.assign(process.stdout, { isTTY }));
  process.stdout.isTTY = false;
  await untilInterrupted(async () => assert.equal(process.listenerCount('SIGHUP'), 0));
});
