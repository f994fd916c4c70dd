import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { settingOrigins } from '../../../../src/cli/admin/config-command.ts';
import { settingKeys } from '../../../../src/server/config/settings-keys.ts';

test('a setting comes from the flag, else the environment, else the file, else its default', (context) => {
  const directory = mkdtempSync(join(tmpdir(), 'reveille-config-'));
  context.after(() => rmSync(directory, { recursive: true }));
  const file = join(directory, 'settings.json');
  writeFileSync(file, JSON.stringify({ api: { listen: 'a' }, sleep: { listen: 'a' }, ops: { listen: 'a' } }));
  const originOf = settingOrigins({
    file,
    env: { REVEILLE_SLEEP_LISTEN: 'b', REVEILLE_OPS_LISTEN: 'b' },
    overrides: ['ops.listen=c'],
  });
  const origins = new Map(settingKeys.map((key) => [key.name, originOf(key)]));
  assert.equal(origins.get('ops.listen'), 'flag');
  assert.equal(origins.get('sleep.listen'), 'environment');
  assert.equal(origins.get('api.listen'), 'file');
  assert.equal(origins.get('data.dir'), 'default');
});
