import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CommandError } from '../../../../src/cli/shell/command-error.ts';
import { addSimulateBridgeCommand } from '../../../../src/tools/bridge/simulate-bridge-command.ts';
import { commandScene } from '../../../support/command-scene.ts';
import type { Ending } from '../../../support/temporary-store.ts';

/** What is said of options that lead nowhere; nothing is connected. */
async function refusal(t: Ending, options: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { run } = commandScene(t, addSimulateBridgeCommand, { env });
  const error: unknown = await run('simulate-bridge', '--format', 'i420', ...options).then(
    () => null,
    (failure: unknown) => failure,
  );
  assert.ok(error instanceof CommandError);
  return error;
}

test('options that contradict each other are usage errors that say which', async (t) => {
  for (const [options, said] of [
    [['--change-every', '5'], /--change-every/],
    [['--change-every', '5', '--size', '320x240'], /--change-every/],
    [['--size', '320x240,240x320'], /--size/],
    [['--session', 's', '--calls', '2'], /--session.*--calls/],
    [['--size', '1280x720'], /1280×720.*1 MiB/],
  ] as const) {
    const { message, exitCode } = await refusal(t, ['--key', 'k', ...options]);
    assert.match(message, said);
    assert.equal(exitCode, 2);
  }
});

test('without a key it says where one comes from', async (t) => {
  const { message, advice } = await refusal(t, []);
  assert.match(message, /--key nor REVEILLE_MEDIA_BRIDGE_KEYS/);
  assert.match(advice ?? '', /bridge add/);
});

test('a development key of the environment is taken when none is named', async (t) => {
  const { message } = await refusal(t, ['--media', '127.0.0.1:1'], {
    REVEILLE_MEDIA_BRIDGE_KEYS: 'a-development-key-of-some-length,another-key-of-some-length',
  });
  assert.match(message, /no media listener answers: nothing listens there/, 'it came as far as that');
});
