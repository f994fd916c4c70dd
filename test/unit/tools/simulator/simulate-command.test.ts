import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CommanderError } from 'commander';
import { CommandError } from '../../../../src/cli/shell/command-error.ts';
import { addSimulateCommand } from '../../../../src/tools/simulator/simulate-command.ts';
import { commandScene } from '../../../support/command-scene.ts';
import type { Ending } from '../../../support/temporary-store.ts';

/** Runs the command and returns its error; nothing connects. */
async function refusal(t: Ending, options: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { run } = commandScene(t, addSimulateCommand, { env });
  const error: unknown = await run('simulate', ...options).then(
    () => null,
    (failure: unknown) => failure,
  );
  assert.ok(error instanceof CommandError || error instanceof CommanderError, String(error));
  return error;
}

test('devices, a call and a bridge have options of their own', async (t) => {
  for (const [options, said] of [
    [['--call', 'D', '--bridge'], /--call.*--bridge/],
    [['--call', 'D', '--ramp', '5'], /--ramp.*--call/],
    [['--call', 'D', '--media', '127.0.0.1:1'], /--media.*--call/],
    [['--bridge', '--devices', '2'], /--devices.*--bridge/],
    [['--video', 'h264'], /--video.*--call or --bridge/],
    [['--size', '320x240'], /--size.*--call or --bridge/],
  ] as const)
    assert.match((await refusal(t, options)).message, said);
});

test('a device does not support raw audio', async (t) => {
  const error = await refusal(t, ['--call', 'D', '--audio', 'pcm']);
  assert.match(error.message, /pcm: a device supports/);
  assert.equal(error.exitCode, 2);
});

test('a bridge without a key fails with advice', async (t) => {
  const error = await refusal(t, ['--bridge']);
  assert.match(error.message, /--key nor REVEILLE_MEDIA_BRIDGE_KEYS/);
  assert.match((error as CommandError).advice ?? '', /bridge add/);
});

test('a development key of the environment is used when none is named', async (t) => {
  const env = { REVEILLE_MEDIA_BRIDGE_KEYS: 'a-development-key-of-some-length,another-key-of-some-length' };
  const { message } = await refusal(t, ['--bridge', '--media', '127.0.0.1:1'], env);
  assert.match(message, /no media listener answers: nothing listens there/, 'it came as far as that');
});
