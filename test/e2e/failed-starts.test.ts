/** Failing starts, as processes: each exits with an error that names the setting and the file or address. */
import assert from 'node:assert/strict';
import { truncateSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { openStore } from '../../src/storage/lmdb/open-store.ts';
import { coreFlag } from '../../src/cli/serve/serve-flags.ts';
import { SystemClock } from '../../src/lib/system-clock.ts';
import { loadSettings } from '../../src/server/config/settings.ts';
import { SiteSupervisor } from '../../src/server/site/site-supervisor.ts';
import { mainArgs, runCli } from '../support/cli-process.ts';
import { FakeLog } from '../support/fakes.ts';
import { findFreePort } from '../support/free-port.ts';
import { serveArguments, settingArguments } from '../support/server-process.ts';
import { temporaryDirectory, type Ending } from '../support/temporary-store.ts';

/** Standard error; asserts exit code 1. */
async function failedStart(t: Ending, overrides: readonly string[], ...options: string[]): Promise<string> {
  const data = join(temporaryDirectory(t), 'data');
  const { exitCode, stdout, stderr } = await runCli([
    ...serveArguments([`data.dir=${data}`, ...overrides]),
    ...options,
  ]);
  assert.deepEqual([exitCode, stdout.includes('"msg":"ready"')], [1, false], stderr);
  return stderr;
}

test('a missing certificate: without and with edges', async (t) => {
  for (const options of [[], ['--edges', '1']]) {
    const said = await failedStart(
      t,
      ['sleep.tls_cert_file=/nope.crt', 'sleep.tls_key_file=/nope.key'],
      ...options,
    );
    assert.match(said, /^sleep\.tls_cert_file: \/nope\.crt: no such file or directory\n/);
    assert.match(said, /\nsleep\.tls_key_file: \/nope\.key: no such file or directory\n/);
    assert.match(said, /check this machine: .*reveille (?:-- )?doctor --set .*\n$/);
  }
});

test('a port in use', async (t) => {
  const other = createServer().listen(0, '127.0.0.1');
  t.after(() => other.close());
  await new Promise((resolve) => other.once('listening', resolve));
  const { port } = other.address() as AddressInfo;
  for (const options of [[], ['--fronts', '2']]) {
    const said = await failedStart(t, [`api.listen=127.0.0.1:${port}`], ...options);
    assert.match(said, new RegExp(`^api\\.listen: 127\\.0\\.0\\.1:${port}: in use by another program`));
  }
});

test('a sleep port that another program binds before the edge listens', async (t) => {
  const other = createServer().listen(0, '127.0.0.1');
  t.after(() => other.close());
  await new Promise((resolve) => other.once('listening', resolve));
  const { port } = other.address() as AddressInfo;
  const dataDirectory = join(temporaryDirectory(t), 'data');
  const free = await Promise.all(
    ['api', 'signal', 'ops'].map(
      async (name) => `${name}.listen=127.0.0.1:${await findFreePort('127.0.0.1')}`,
    ),
  );
  const overrides = [
    ...free,
    `sleep.listen=127.0.0.1:${port}`,
    `data.dir=${dataDirectory}`,
    'media.process=none',
    'log.level=error',
    'sleep.edges=1',
  ];
  // Skips the checks of the command, which would find the port in use.
  const site = new SiteSupervisor(loadSettings({ env: {}, overrides }), {
    clock: new SystemClock(),
    log: new FakeLog(),
    dataDirectory,
    coreArguments: [...mainArgs, 'serve', ...settingArguments(overrides), coreFlag],
  });
  t.after(() => site.close());
  await assert.rejects(site.start(), {
    message: `the edge does not start: cannot listen on 127.0.0.1:${port}: in use, or not an address of this machine`,
  });
});

test('a separate media process, which would fail only once its server is reachable', async (t) => {
  const key = join(temporaryDirectory(t), 'link.key');
  writeFileSync(key, 'k'.repeat(32), { mode: 0o600 });
  const said = await failedStart(
    t,
    [
      'media.link_server=127.0.0.1:9',
      `media.link_key_file=${key}`,
      'media.tls_cert_file=/nope.crt',
      'media.tls_key_file=/nope.key',
    ],
    '--only',
    'media',
  );
  assert.match(said, /^media\.tls_cert_file: \/nope\.crt: no such file or directory\n/);
});

test('a failure during the start leaves no process behind', async (t) => {
  const registry = join(temporaryDirectory(t), 'registry.json');
  writeFileSync(registry, '{"devices": [{"device_id": 5}]}');
  assert.match(await failedStart(t, [`registry.file=${registry}`]), /registry\.json/);
  const keys = join(temporaryDirectory(t), 'token-keys.json');
  writeFileSync(keys, 'no keys');
  assert.match(await failedStart(t, [`calls.token_keys_file=${keys}`]), /token-keys\.json/);
});

test('a damaged store: without and with edges', async (t) => {
  for (const options of [[], ['--edges', '1']]) {
    const data = join(temporaryDirectory(t), 'data');
    await openStore(data).close();
    truncateSync(join(data, 'registry.mdb'), 8192);
    const said = await failedStart(t, [`data.dir=${data}`], ...options);
    assert.match(
      said,
      /^the store's file \S+registry\.mdb is damaged: .*restore the data directory from a backup/,
    );
  }
});
