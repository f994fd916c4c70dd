import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { findDemoWish } from '../../../../src/cli/serve/demo-wish.ts';
import { loadSettings, type SettingsSources } from '../../../../src/server/config/settings.ts';
import { temporaryDirectory } from '../../../support/temporary-store.ts';

function settingsFile(t: TestContext, held: object): string {
  const file = join(temporaryDirectory(t), 'settings.json');
  writeFileSync(file, JSON.stringify(held));
  return file;
}

function wishOf(sources: Partial<SettingsSources>, isAsked = false): string | null {
  const settingsSources = { env: {}, ...sources };
  return findDemoWish({ settings: loadSettings(settingsSources), settingsSources }, isAsked);
}

test('a start with nothing configured wants the demo registry', () => {
  assert.equal(wishOf({}), 'first-start');
});

test('other ports of loopback listeners and settings that give no place configure nothing', () => {
  assert.equal(
    wishOf({ env: { REVEILLE_API_LISTEN: '127.0.0.1:0', REVEILLE_LOG_LEVEL: 'debug' } }),
    'first-start',
  );
  assert.equal(wishOf({ env: { REVEILLE_OPS_LISTEN: '[::1]:0' } }), 'first-start');
  assert.equal(wishOf({ overrides: ['sleep.listen=127.0.0.1:0', 'media.process=none'] }), 'first-start');
});

const configured: Readonly<Record<string, Partial<SettingsSources>>> = {
  'the data directory, by a variable': { env: { REVEILLE_DATA_DIR: './data' } },
  'the data directory, by a flag': { overrides: ['data.dir=/var/lib/reveille'] },
  'a registry file, by a variable': { env: { REVEILLE_REGISTRY_FILE: 'registry.json' } },
  'a registry file, by a flag': { overrides: ['registry.file=registry.json'] },
  'other nodes': { env: { REVEILLE_CLUSTER_NATS_URL: 'nats://127.0.0.1:4222' } },
  ...Object.fromEntries(
    ['api', 'sleep', 'signal', 'media', 'ops'].flatMap((name) => [
      [
        `${name} beyond loopback, by a variable`,
        { env: { [`REVEILLE_${name.toUpperCase()}_LISTEN`]: '0.0.0.0:0' } },
      ],
      [`${name} beyond loopback, by a flag`, { overrides: [`${name}.listen=192.0.2.1:0`] }],
    ]),
  ),
};
for (const [how, sources] of Object.entries(configured))
  test(`an empty store stays empty where something is configured, and --demo is obeyed: ${how}`, () => {
    assert.equal(wishOf(sources), null);
    assert.equal(wishOf(sources, true), 'asked');
  });

test('a settings file configures, whatever it holds', (t) => {
  for (const held of [{}, { log: { level: 'debug' } }, { sleep: { listen: '0.0.0.0:0' } }])
    assert.equal(wishOf({ file: settingsFile(t, held) }), null);
});
