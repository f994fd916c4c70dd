import assert from 'node:assert/strict';
import { test } from 'node:test';
import { interruptUnread, untilInterrupted } from '../../../../src/cli/shell/command-context.ts';

/** Resolves when the work is aborted; `end` is called once it is under way. */
async function interrupted(end: () => void): Promise<void> {
  await untilInterrupted(async (signal) => {
    const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve));
    end();
    assert.ok(signal.aborted, 'the work goes on');
    await aborted;
  });
}

test('work that has something to undo is ended by Ctrl-C, by a terminal that is closed, and where nobody reads', async (t) => {
  const { isTTY } = process.stdout;
  t.after(() => Object.assign(process.stdout, { isTTY }));
  process.stdout.isTTY = true;
  await interrupted(() => process.emit('SIGINT', 'SIGINT'));
  await interrupted(() => process.emit('SIGHUP', 'SIGHUP'));
  await interrupted(() => assert.equal(interruptUnread(), true));
  assert.equal(interruptUnread(), false, 'nothing is under way');
});

test('what runs without a terminal leaves SIGHUP alone, which nohup may have it ignore', async (t) => {
  const { isTTY } = process.stdout;
  t.after(() => Object.assign(process.stdout, { isTTY }));
  process.stdout.isTTY = false;
  await untilInterrupted(async () => assert.equal(process.listenerCount('SIGHUP'), 0));
});
