import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { addConfigCommand } from '../../../../src/cli/admin/config-command.ts';
import { commandScene } from '../../../support/command-scene.ts';
import { temporaryDirectory } from '../../../support/temporary-store.ts';

test('a setting comes from the flag, else the environment, else the file, else its default', async (t) => {
  const config = join(temporaryDirectory(t), 'settings.json');
  const inFile = { listen: '127.0.0.1:1' };
  writeFileSync(config, JSON.stringify({ api: inFile, sleep: inFile, ops: inFile }));
  const env = { REVEILLE_SLEEP_LISTEN: '127.0.0.1:2', REVEILLE_OPS_LISTEN: '127.0.0.1:2' };
  const scene = commandScene(t, addConfigCommand, { config, env, set: ['ops.listen=127.0.0.1:3'] });
  await scene.run('config');
  const { origins } = scene.output.json as { origins: Readonly<Record<string, string>> };
  assert.equal(origins['ops.listen'], 'flag');
  assert.equal(origins['sleep.listen'], 'environment');
  assert.equal(origins['api.listen'], 'file');
  assert.equal(origins['signal.listen'], 'default');
});
