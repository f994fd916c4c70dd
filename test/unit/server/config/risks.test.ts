import { test, type TestContext } from 'node:test';
import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import assert from 'node:assert/strict';
import {
  reportRisks,
  findExposedFiles,
  reportExposedFiles,
  secretFilesOf,
} from '../../../../src/server/config/risks.ts';
import { loadSettings } from '../../../../src/server/config/settings.ts';
import { FakeLog } from '../../../support/fakes.ts';
import { temporaryDirectory } from '../../../support/temporary-store.ts';

function risksOf(...overrides: string[]): string[] {
  const log = new FakeLog();
  reportRisks(loadSettings({ env: {}, overrides }), log);
  return log.lines.map(({ message }) => message);
}

test('the defaults are no risk', () => {
  assert.deepEqual(risksOf(), []);
});

for (const [section, host, told] of [
  ['api', '0.0.0.0', 'api: accepts requests from other machines without TLS'],
  ['signal', '0.0.0.0', 'signal: accepts controllers from other machines without TLS'],
  ['media', '10.0.0.5', 'media: accepts tokens and bridge keys from other machines without TLS'],
] as const)
  test(`${section} beyond loopback is a risk without TLS, and with it none`, () => {
    const listen = `${section}.listen=${host}:8089`;
    assert.deepEqual(risksOf(listen), [told]);
    const tls = [`${section}.tls_cert_file=/c.pem`, `${section}.tls_key_file=/k.pem`];
    assert.deepEqual(risksOf(listen, ...tls), []);
  });

for (const [override, told] of [
  ['media.bridge_keys=one,two', /for development only/],
  ['registry.allow_short_secrets=true', /registry\.allow_short_secrets/],
  ['ops.listen=0.0.0.0:8090', /probes and metrics are reachable/],
  ['webhooks.allow_local=true', /webhooks\.allow_local/],
] as const)
  test(`${override} is a risk`, () => {
    const [risk = '', ...more] = risksOf(override);
    assert.match(risk, told);
    assert.deepEqual(more, []);
  });

test('an advertised sleep server that devices cannot reach is reported', () => {
  const [told = ''] = risksOf('sleep.listen=0.0.0.0:8081');
  assert.match(told, /set sleep\.advertise/);
  assert.deepEqual(risksOf('sleep.listen=0.0.0.0:8081', 'sleep.advertise=sleep.example:8081'), []);
});

test('an advertised media listener that is unreachable or unknown is reported', () => {
  const told = (...overrides: string[]) => risksOf(...overrides).filter((line) => /advertise/.test(line));
  assert.match(told('media.listen=0.0.0.0:8083').join(), /from this machine only; set media\.advertise/);
  const elsewhere = ['media.process=elsewhere', 'media.link_listen=127.0.0.1:0', 'media.link_key_file=k'];
  assert.match(told(...elsewhere).join(), /may be unknown; set media\.advertise/);
  for (const others of [['media.listen=0.0.0.0:8083'], elsewhere])
    assert.deepEqual(told(...others, 'media.advertise=media.example:8083'), []);
  assert.deepEqual(told('media.listen=0.0.0.0:8083', 'media.process=none'), []);
});

const noModes =
  process.platform === 'win32' || (statSync(tmpdir()).mode & 0o011) === 0
    ? 'files have no modes, or temporary ones are their owner’s alone'
    : false;

/** A file in a directory that every user may enter. */
function fileOf(t: TestContext, mode: number, directoryMode = 0o755, aboveMode = 0o755): string {
  const above = temporaryDirectory(t);
  const directory = join(above, 'etc');
  mkdirSync(directory);
  const path = join(directory, 'registry.json');
  writeFileSync(path, '{}');
  chmodSync(path, mode);
  chmodSync(directory, directoryMode);
  chmodSync(above, aboveMode);
  return path;
}

const seen: readonly [string, RegExp | null, number, number?, number?][] = [
  [
    'a file that its group may write',
    /can be written by other users \(mode 0660\).*chmod go-w .*json/,
    0o660,
  ],
  ['a file that everybody may write', /can be written by other users \(mode 0602\)/, 0o602],
  ['a file that everybody may read', /can be read by every user \(mode 0644\).*chmod o-r/, 0o644],
  [
    'a file in a directory that others may write',
    /can be replaced.*mode 0777.*chmod go-w .*etc$/,
    0o600,
    0o777,
  ],
  ['a file in a directory like /tmp', null, 0o600, 0o1777],
  ['a file of its owner', null, 0o600],
  ['a file that its group may read', null, 0o640],
  ['a file in a directory of its owner', null, 0o666, 0o700],
  ['a file below a directory of its owner', null, 0o666, 0o755, 0o700],
];
for (const [what, told, ...modes] of seen)
  test(`${what} is ${told === null ? 'accepted' : 'reported'}`, { skip: noModes }, (t) => {
    const found = findExposedFiles([{ name: 'registry.file', path: fileOf(t, ...modes) }]);
    const said = found.map((exposed) => `${exposed.name} ${exposed.found}: ${exposed.advice}`);
    assert.equal(said.length, told === null ? 0 : 1, said.join());
    if (told !== null) assert.match(said[0] ?? '', told);
  });

test('a missing file is not reported', () => {
  assert.deepEqual(findExposedFiles([{ name: 'registry.file', path: '/nowhere/registry.json' }]), []);
});

test('the registry file and all key files are checked', () => {
  const named = [
    'registry.file=r',
    'calls.token_keys_file=t',
    'sleep.tls_cert_file=c',
    'sleep.tls_key_file=s',
    'signal.tls_cert_file=c',
    'signal.tls_key_file=s',
    'media.tls_cert_file=c',
    'media.tls_key_file=s',
  ];
  const files = secretFilesOf(loadSettings({ env: {}, overrides: named }));
  const expected = [
    'sleep.tls_key_file',
    'signal.tls_key_file',
    'media.tls_key_file',
    'calls.token_keys_file',
    'registry.file',
  ];
  assert.deepEqual(files.map(({ name }) => name).toSorted(), expected.toSorted());
  assert.deepEqual(secretFilesOf(loadSettings({ env: {} })), [], 'by default none is named');
});

test('a registry file writable by others causes a warning in the log', { skip: noModes }, (t) => {
  const log = new FakeLog();
  const file = fileOf(t, 0o666);
  reportExposedFiles(loadSettings({ env: {}, overrides: [`registry.file=${file}`] }), log);
  assert.deepEqual(
    log.lines.map(({ level, message }) => `${level} ${message}`),
    [`warn registry.file can be written by other users (mode 0666): chmod go-w ${file}`],
  );
});
