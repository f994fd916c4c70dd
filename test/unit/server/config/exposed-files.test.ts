/** Files with secrets that other users of the machine can write, replace or read. */
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import {
  findExposedFiles,
  reportExposedFiles,
  secretFilesOf,
} from '../../../../src/server/config/exposed-files.ts';
import { loadSettings } from '../../../../src/server/config/settings.ts';
import { FakeLog } from '../../../support/fakes.ts';
import { temporaryDirectory } from '../../../support/temporary-store.ts';

const noModes =
  process.platform === 'win32' || (statSync(tmpdir()).mode & 0o011) === 0
    ? 'files have no modes, or temporary ones are their owner’s alone'
    : false;

/** A file in a directory that everybody may pass. */
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
  test(`${what} is ${told === null ? 'well' : 'told'}`, { skip: noModes }, (t) => {
    const found = findExposedFiles([{ name: 'registry.file', path: fileOf(t, ...modes) }]);
    const said = found.map((exposed) => `${exposed.name} ${exposed.found}: ${exposed.advice}`);
    assert.equal(said.length, told === null ? 0 : 1, said.join());
    if (told !== null) assert.match(said[0] ?? '', told);
  });

test('a file that is not there is nothing to tell', () => {
  assert.deepEqual(findExposedFiles([{ name: 'registry.file', path: '/nowhere/registry.json' }]), []);
});

test('the registry file and every key that a setting names are looked at', () => {
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

test('a registry file that others can write is a warning in the log', { skip: noModes }, (t) => {
  const log = new FakeLog();
  const file = fileOf(t, 0o666);
  reportExposedFiles(loadSettings({ env: {}, overrides: [`registry.file=${file}`] }), log);
  assert.deepEqual(
    log.lines.map(({ level, message }) => `${level} ${message}`),
    [`warn registry.file can be written by other users (mode 0666): chmod go-w ${file}`],
  );
});
