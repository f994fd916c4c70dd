import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { isConfigured, seedFirstStart } from '../../../../src/cli/serve/first-start.ts';
import { CommandContext } from '../../../../src/cli/shell/command-context.ts';
import { loadSettings, type SettingsSources } from '../../../../src/server/config/settings.ts';
import { FakeLog } from '../../../support/fakes.ts';
import { temporaryDirectory } from '../../../support/temporary-store.ts';

function settingsFile(t: TestContext, held: object): string {
  const file = join(temporaryDirectory(t), 'settings.json');
  writeFileSync(file, JSON.stringify(held));
  return file;
}

function isConfiguredBy(sources: Partial<SettingsSources>): boolean {
  const settingsSources = { env: {}, ...sources };
  return isConfigured(loadSettings(settingsSources), settingsSources);
}

test('a start with nothing configured fills an empty store', () => {
  assert.equal(isConfiguredBy({}), false);
});

test('other loopback ports, and settings that name no place, do not count as configured', () => {
  assert.equal(
    isConfiguredBy({ env: { REVEILLE_API_LISTEN: '127.0.0.1:0', REVEILLE_LOG_LEVEL: 'debug' } }),
    false,
  );
  assert.equal(isConfiguredBy({ overrides: ['sleep.listen=127.0.0.1:0', 'media.process=none'] }), false);
});

const configured: Readonly<Record<string, Partial<SettingsSources>>> = {
  'the data directory, by a variable': { env: { REVEILLE_DATA_DIR: './data' } },
  'the data directory, by a flag': { overrides: ['data.dir=/var/lib/reveille'] },
  'a registry file': { overrides: ['registry.file=registry.json'] },
  'other nodes': { env: { REVEILLE_CLUSTER_NATS_URL: 'nats://127.0.0.1:4222' } },
  ...Object.fromEntries(
    ['api', 'sleep', 'signal', 'media', 'ops'].map((name) => [
      `${name} beyond loopback`,
      { overrides: [`${name}.listen=192.0.2.1:0`] },
    ]),
  ),
};
for (const [how, sources] of Object.entries(configured))
  test(`an empty store stays empty if something is configured: ${how}`, () => {
    assert.equal(isConfiguredBy(sources), true);
  });

test('a settings file counts as configured, whatever it contains', (t) => {
  for (const held of [{}, { log: { level: 'debug' } }, { sleep: { listen: '0.0.0.0:0' } }])
    assert.equal(isConfiguredBy({ file: settingsFile(t, held) }), true);
});

test('--demo is refused if the registry comes from a file or from other nodes', async (t) => {
  const dataDir = temporaryDirectory(t);
  for (const setting of ['registry.file=registry.json', 'cluster.nats_url=nats://127.0.0.1:4222']) {
    const context = new CommandContext({ dataDir, set: [setting] }, {});
    await assert.rejects(seedFirstStart(context, true, new FakeLog()), {
      exitCode: 2,
      message: /^--demo needs its own registry/,
    });
  }
});
