/** The command line as processes: exit codes, an import into the store of a stopped server, a running server. */
import assert from 'node:assert/strict';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { LongCommand, runCli, type CliResult } from '../support/cli-process.ts';
import { sampleRegistry } from '../support/registry-entries.ts';
import { freeListens, settingArguments } from '../support/server-process.ts';
import { signingVectors } from '../support/signing-vectors.ts';
import { temporaryDirectory, type Ending } from '../support/temporary-store.ts';

const { credential, vectors } = signingVectors;

function json(result: CliResult): unknown {
  assert.equal(result.exitCode, 0, result.stderr);
  return JSON.parse(result.stdout);
}

function writeJson(t: Ending, name: string, value: unknown): string {
  const path = join(temporaryDirectory(t), name);
  writeFileSync(path, JSON.stringify(value));
  return path;
}

test('help exits with 0, invalid usage with 2, a failure with 1; none shows a stack', async (t) => {
  const dataDir = ['--data-dir', join(temporaryDirectory(t), 'none')];
  const cases = [
    [['--help'], 0, /^Usage: reveille COMMAND.*^Run .*Keys$/ms],
    [['nonsense'], 2, /unknown command/],
    [['wake', '--nonsense', 'D'], 2, /unknown option/],
    [['wake', '--json'], 2, /^{"error":"missing required argument 'device'","advice":\[.*\]}\n$/],
    [['config', '--set', 'api.lisen=x'], 2, /api\.lisen.*api\.listen/],
    [
      ['device', 'show', 'D', ...dataDir],
      1,
      /^no server runs on .*, and this command needs a running one\n {2}start it: .* serve --data-dir /,
    ],
  ] as const;
  for (const [args, exitCode, said] of cases) {
    const result = await runCli(args);
    assert.equal(result.exitCode, exitCode, args.join(' '));
    assert.match(exitCode === 0 ? result.stdout : result.stderr, said, args.join(' '));
    assert.doesNotMatch(result.stderr, /\n\s+at /, args.join(' '));
  }
});

test('an invalid environment variable exits with 2 and is named', async () => {
  const { exitCode, stderr } = await runCli(['config'], { REVEILLE_API_LISEN: 'x' });
  assert.equal(exitCode, 2);
  assert.match(stderr, /REVEILLE_API_LISEN.*REVEILLE_API_LISTEN/);
});

test('sign computes the values of the test vectors', async (t) => {
  const file = writeJson(t, 'credential.json', credential);
  const chosen = vectors.filter(({ name }) =>
    /^(GET with a query, short set|POST wakeup, long set)$/.test(name),
  );
  assert.equal(chosen.length, 2);
  for (const vector of chosen) {
    const target = vector.raw_query === '' ? vector.path : `${vector.path}?${vector.raw_query}`;
    const body = vector.body === '' ? [] : ['--body', vector.body];
    const how = ['--header-set', vector.header_set, '--date', '20261120T083000Z', '--credential', file];
    const signed = json(
      await runCli(['sign', vector.method, target, ...body, ...how, '--explain', '--json']),
    );
    const { canonical_request, string_to_sign, signing_key_hex, signature, headers } = vector;
    const values = { canonical_request, string_to_sign, signing_key_hex, signature, headers };
    assert.deepEqual(signed, { method: vector.method, target, ...values });
  }
});

/** Without media processes: these tests have no calls. */
const freePorts = settingArguments([...freeListens, 'media.process=none']);

test('a registry is imported into a running server and exported unchanged; an invalid entry is named and changes nothing', async (t) => {
  const directory = temporaryDirectory(t);
  const cli = (...args: string[]): Promise<CliResult> => runCli([...args, '--data-dir', directory]);
  const server = new LongCommand(t, ['serve', '--data-dir', directory, ...freePorts]);
  await server.logged('ready');
  const importing = (name: string, registry: unknown, ...more: string[]): Promise<CliResult> =>
    cli('registry', 'import', writeJson(t, name, registry), ...more);
  const imported = json(await importing('registry.json', sampleRegistry, '--json')) as { counts: object };
  const counts = { application: 1, product: 1, credential: 1, device: 2, webhook: 1, bridge: 1 };
  assert.deepEqual(imported.counts, counts);
  assert.equal(statSync(directory).mode & 0o777, 0o700);
  const masked = await cli('registry', 'export');
  assert.doesNotMatch(masked.stdout, /secret-1|secret-of-the-credential|whsec_/);

  const wrong = { devices: [{ device_id: 'NEW', product_id: 'none', secret: 'the secret of NEW' }] };
  const refused = await importing('wrong.json', wrong, '--replace', '--yes');
  assert.equal(refused.exitCode, 1);
  assert.match(refused.stderr, /wrong\.json: devices\[0\].*"NEW".*"none"/);
  const short = { devices: [{ ...sampleRegistry.devices[0], secret: 'guess me' }] };
  const guessable = await importing('short.json', short);
  assert.match(guessable.stderr, /short\.json: devices\[0\].*"TESTDEVICE01": secret .*16 characters/);
  assert.deepEqual(json(await cli('registry', 'export', '--with-secrets')), sampleRegistry);
});

test('serve --demo creates a demo application; its devices sleep, wake and are kicked; SIGTERM ends it with 0', async (t) => {
  const directory = join(temporaryDirectory(t), 'data');
  const cli = (...args: string[]): Promise<CliResult> => runCli([...args, '--data-dir', directory]);
  const server = new LongCommand(t, ['serve', '--demo', '--data-dir', directory, ...freePorts]);
  const ready = JSON.parse(await server.line((line) => line.includes('"msg":"ready"'))) as {
    listeners: object;
  };
  assert.deepEqual(Object.keys(ready.listeners), ['api', 'sleep', 'signal', 'media', 'ops']);
  for (const line of server.lines) assert.ok(JSON.parse(line), 'standard output is JSON');

  const early = await cli('wake', 'DEMO-DOORBELL-1');
  assert.equal(early.exitCode, 1);
  assert.deepEqual([early.stdout, /40412/.test(early.stderr)], ['', true], early.stderr);
  assert.ok(early.stderr.includes(`DEMO-DOORBELL-1' --data-dir ${directory}\n`), 'advice is for this server');
  assert.match(server.stderr, /secret key.*\n.*DEMO-DOORBELL-1/);

  const sleepingDevices = ['simulate', '--only-sleep', '--devices', '2', '--json', '--data-dir', directory];
  const fleet = new LongCommand(t, sleepingDevices);
  await fleet.line((line) => line.includes('"event":"asleep"'));
  const woken = await cli('wake', 'DEMO-DOORBELL-1', '--custom-data', '0x12aB');
  assert.equal(woken.exitCode, 0, woken.stdout);
  const wake = JSON.parse(await fleet.line((line) => line.includes('"event":"wake"'))) as object;
  assert.equal((wake as { packet: string }).packet, '983b16f8f39c12ab');
  const kick = json(await cli('device', 'kick', 'DEMO-DOORBELL-2', '--json')) as { kicked: boolean };
  assert.equal(kick.kicked, true);
  const unkicked = await cli('device', 'kick', 'NOBODY', '--json');
  assert.equal(unkicked.exitCode, 1);
  assert.equal(
    (JSON.parse(unkicked.stderr) as { error: string }).error,
    'no device "NOBODY" in the registry',
  );
  const { stdout: key } = await cli('credential', 'create', '--app', '2818153', '--json');
  const keyFile = join(directory, 'key.json');
  writeFileSync(keyFile, key);
  const record = await cli(
    'call',
    '--credential',
    keyFile,
    'GET',
    '/v1/device/connectivity?device_id=DEMO-DOORBELL-2',
  );
  assert.equal(record.exitCode, 0, record.stdout);
  assert.match(record.stdout, /HTTP 200[^]*"last_offline_at": \d+/);
  const both = await cli('status', 'DEMO-DOORBELL-1', 'NOBODY', 'DEMO-DOORBELL-2');
  assert.equal(both.exitCode, 1, 'one of them cannot be told');
  assert.match(both.stdout, /^DEMO-DOORBELL-1 .*sleep: last seen .*\nNOBODY .*40403.*\nDEMO-DOORBELL-2 /);
  const alike = json(await cli('status', 'DEMO-DOORBELL-1', 'DEMO-DOORBELL-1', '--json'));
  const { data } = alike as { data: { devices: { code: number }[] } };
  assert.deepEqual(
    data.devices.map(({ code }) => code),
    [0, 0],
  );
  assert.equal(await fleet.stop('SIGINT'), 0);
  assert.match(fleet.lines.at(-1) ?? '', /"event":"summary"/);

  const doctor = json(await cli('doctor', '--json')) as { ok: boolean };
  assert.equal(doctor.ok, true);
  const secondServer = await cli('serve', ...freePorts);
  assert.equal(secondServer.exitCode, 1);
  assert.match(secondServer.stderr, new RegExp(`in use by process ${server.pid}`));
  assert.equal(await server.stop('SIGTERM'), 0);
});
