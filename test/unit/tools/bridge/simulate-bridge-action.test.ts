import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CommandContext } from '../../../../src/cli/shell/command-context.ts';
import { CommandError } from '../../../../src/cli/shell/command-error.ts';
import {
  simulateBridge,
  type SimulateBridgeOptions,
} from '../../../../src/tools/bridge/simulate-bridge-command.ts';

const [landscape, portrait] = [
  { width: 320, height: 240 },
  { width: 240, height: 320 },
];

/** What is said of options that lead nowhere; nothing is connected. */
async function refusal(options: Partial<SimulateBridgeOptions>, env: NodeJS.ProcessEnv = {}) {
  const context = new CommandContext({ dataDir: '/nonexistent/reveille' }, env);
  const error: unknown = await simulateBridge(context, undefined, { format: 'i420', ...options }).then(
    () => null,
    (failure: unknown) => failure,
  );
  assert.ok(error instanceof CommandError);
  return error;
}

test('options that contradict each other are usage errors that say which', async () => {
  const contradictions = [
    [{ changeEvery: 5 }, /--change-every/],
    [{ changeEvery: 5, size: [landscape] }, /--change-every/],
    [{ size: [landscape, portrait] }, /--size/],
    [{ session: 's', calls: 2 }, /--session.*--calls/],
    [{ size: [{ width: 1280, height: 720 }] }, /1280×720.*1 MiB/],
  ] as const;
  for (const [options, said] of contradictions) {
    const { message, exitCode } = await refusal({ key: 'k', ...options });
    assert.match(message, said);
    assert.equal(exitCode, 2);
  }
});

test('without a key it says where one comes from', async () => {
  const { message, advice } = await refusal({});
  assert.match(message, /--key nor REVEILLE_MEDIA_BRIDGE_KEYS/);
  assert.match(advice ?? '', /bridge add/);
});

test('a development key of the environment is taken when none is named', async () => {
  const { message } = await refusal(
    { media: '127.0.0.1:1' },
    { REVEILLE_MEDIA_BRIDGE_KEYS: 'a-development-key-of-some-length,another-key-of-some-length' },
  );
  assert.match(message, /no media listener answers: .*ECONNREFUSED/, 'it came as far as that');
});
