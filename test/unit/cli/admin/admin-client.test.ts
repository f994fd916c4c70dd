import assert from 'node:assert/strict';
import { test } from 'node:test';
import { advised } from '../../../../src/cli/admin/admin-client.ts';
import { CommandError, usageError } from '../../../../src/cli/shell/command-error.ts';
import { OpsUnavailableError } from '../../../../src/cli/admin/ops-client.ts';

const advice = 'see which there are';

/** How a refusal comes out. */
async function outcome(refusal: Error): Promise<unknown> {
  try {
    return await advised(advice, async () => {
      throw refusal;
    });
  } catch (told) {
    return told;
  }
}

test('a refusal gets the advice, and its exit code stays', async () => {
  assert.deepEqual(
    await outcome(new CommandError('no bridge "x"')),
    new CommandError('no bridge "x"', advice),
  );
  const told = await outcome(usageError('bridge_id is missing'));
  assert.ok(told instanceof CommandError);
  assert.deepEqual([told.message, told.advice, told.exitCode], ['bridge_id is missing', advice, 2]);
});

test('what has an advice, what could not be answered and what is no refusal stay as they are', async () => {
  for (const error of [
    new CommandError('no server runs', 'start it'),
    new OpsUnavailableError('no answer'),
    new Error('a mistake'),
  ])
    assert.equal(await outcome(error), error);
  assert.equal(await advised(advice, async () => 'done'), 'done');
});
