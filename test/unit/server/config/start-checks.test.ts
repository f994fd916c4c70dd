/** Checks before a start: every setting with a file or an address, and each of its faults. */
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  findAddressProblems,
  findFileProblems,
  findLimitProblems,
  readListenerCertificates,
} from '../../../../src/server/config/start-checks.ts';
import { loadSettings } from '../../../../src/server/config/settings.ts';
import type { Settings } from '../../../../src/server/config/settings-schema.ts';
import { readFromRoot } from '../../../support/checkout.ts';
import { temporaryDirectory } from '../../../support/temporary-store.ts';
import { noOpenssl, TestCertificate } from '../../../support/test-certificate.ts';

function settingsWith(...overrides: string[]): Settings {
  return loadSettings({ env: {}, overrides });
}

function problemsOf(...overrides: string[]): string[] {
  return findFileProblems(settingsWith(...overrides)).map(({ setting, reason }) => `${setting}: ${reason}`);
}

const defaults = JSON.parse(readFromRoot('config/default.json')) as Record<string, Record<string, unknown>>;
const names = Object.entries(defaults).flatMap(([section, keys]) =>
  Object.keys(keys).map((key) => `${section}.${key}`),
);
const tlsSections = ['api', 'sleep', 'signal', 'media'] as const;
/** Settings with a file that must exist. */
const neededFiles = names.filter(
  (name) => /(?:_file|\.file|nats_credentials|nats_ca)$/.test(name) && name !== 'calls.token_keys_file',
);

/** Settings that are required together with it. */
function beside(name: string): string[] {
  if (name.endsWith('tls_cert_file')) return [`${name.replace('cert', 'key')}=${import.meta.filename}`];
  if (name.endsWith('tls_key_file')) return [`${name.replace('key', 'cert')}=${import.meta.filename}`];
  if (name === 'media.link_key_file') return ['media.process=elsewhere', 'media.link_listen=127.0.0.1:0'];
  if (name.startsWith('cluster.')) return ['cluster.nats_url=nats://127.0.0.1'];
  return [];
}

test('fourteen settings name files that must exist', () => {
  assert.equal(neededFiles.length, 14, neededFiles.join(' '));
});

for (const name of neededFiles) {
  test(`${name} is reported with its path if the file is missing`, () => {
    assert.ok(
      problemsOf(`${name}=/nowhere/at all`, ...beside(name)).includes(
        `${name}: /nowhere/at all: no such file or directory`,
      ),
    );
  });

  test(`${name} is reported if it is a directory`, (t) => {
    const directory = temporaryDirectory(t);
    assert.ok(
      problemsOf(`${name}=${directory}`, ...beside(name)).includes(`${name}: ${directory}: is a directory`),
    );
  });
}

test('the file of token keys may be missing, but must be readable', (t) => {
  const directory = temporaryDirectory(t);
  assert.deepEqual(problemsOf(`calls.token_keys_file=${join(directory, 'made later.json')}`), []);
  assert.deepEqual(problemsOf(`calls.token_keys_file=${directory}`), [
    `calls.token_keys_file: ${directory}: is a directory`,
  ]);
});

test('a file without read permission is reported', { skip: process.getuid?.() === 0 }, (t) => {
  const file = join(temporaryDirectory(t), 'registry.json');
  writeFileSync(file, '{}');
  chmodSync(file, 0);
  assert.deepEqual(problemsOf(`registry.file=${file}`), [`registry.file: ${file}: permission denied`]);
});

for (const section of tlsSections)
  test(`a certificate of ${section}: swapped, of another key, or no PEM`, { skip: noOpenssl }, (t) => {
    const directory = temporaryDirectory(t);
    const certificate = new TestCertificate(directory);
    certificate.use('first');
    const [cert, key] = [`${section}.tls_cert_file`, `${section}.tls_key_file`];
    const given = (certFile: string, keyFile: string): string[] =>
      problemsOf(`${cert}=${certFile}`, `${key}=${keyFile}`);
    const { certFile, keyFile } = certificate;
    assert.deepEqual(given(certFile, keyFile), []);
    assert.deepEqual(given(keyFile, certFile), [
      `${cert}: ${keyFile}: no PEM certificate in it`,
      `${key}: ${certFile}: no PEM private key in it, or one with a passphrase`,
    ]);
    const others = join(directory, 'others');
    mkdirSync(others);
    const another = new TestCertificate(others);
    another.use('second');
    assert.deepEqual(given(certFile, another.keyFile), [
      `${key}: ${another.keyFile}: not the key of the certificate in ${certFile}`,
    ]);
  });

test('certificates are read with their expiry dates', { skip: noOpenssl }, (t) => {
  const certificate = new TestCertificate(temporaryDirectory(t));
  certificate.use('first');
  const settings = settingsWith(
    ...certificate.overrides('api'),
    'signal.tls_cert_file=/nope',
    'signal.tls_key_file=/nope',
  );
  const [read, ...more] = readListenerCertificates(settings);
  assert.deepEqual([read?.setting, read?.path, more], ['api.tls_cert_file', certificate.certFile, []]);
  assert.ok((read?.expiresMs ?? 0) > Date.now());
});

const listens = ['api', 'sleep', 'signal', 'media', 'ops'] as const;
const free = listens.map((section) => `${section}.listen=127.0.0.1:0`);

for (const section of listens)
  test(`${section}.listen is reported if it is in use, or not an address of this machine`, async (t) => {
    const other = createServer().listen(0, '127.0.0.1');
    t.after(() => other.close());
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as AddressInfo;
    const problems = (listen: string) =>
      findAddressProblems(settingsWith(...free, `${section}.listen=${listen}`));
    assert.deepEqual(await problems('127.0.0.1:0'), []);
    assert.deepEqual(await problems(`127.0.0.1:${port}`), [
      {
        setting: `${section}.listen`,
        reason: `127.0.0.1:${port}: in use by another program, or by a server that runs already`,
      },
    ]);
    assert.deepEqual(await problems('192.0.2.1:0'), [
      { setting: `${section}.listen`, reason: '192.0.2.1:0: not an address of this machine' },
    ]);
  });

test('a media listener in another process is not checked', async () => {
  assert.deepEqual(
    await findAddressProblems(settingsWith(...free, 'media.process=none', 'media.listen=192.0.2.1:0')),
    [],
  );
});

test('an open file limit without room for sessions is a problem', () => {
  assert.deepEqual(findLimitProblems(1025), []);
  assert.deepEqual(findLimitProblems(Infinity), []);
  const [problem, ...more] = findLimitProblems(1024);
  assert.deepEqual([problem?.setting, more], ['sleep.max_sessions', []]);
  assert.match(String(problem?.reason), /^the limit of open files is 1024, .*ulimit -n 65536/);
});
