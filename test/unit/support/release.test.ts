/** Tests the checks of a release, and verifies its checksums and signature with only openssl and coreutils. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readFromRoot } from '../../support/checkout.ts';
import { findChangelogProblems, findReleaseProblems, readRelease } from '../../support/release-checks.ts';
import { readSigningKey, signSums, writeSums } from '../../support/release-sums.ts';
import { temporaryDirectory, type Ending } from '../../support/temporary-store.ts';
import { noOpenssl } from '../../support/test-certificate.ts';

const upgrade = `### Upgrade

- **To do**: stop it, install, start it.
- **Closes**: every session, once.
- **Formats**: as before.
- **Settings**: none.
`;
const entry = `## [1.2.3] - 2026-11-23\n\nSomething.\n\n${upgrade}\n### Fixed\n\n- This.\n`;
const changelog = `# Changelog\n\n${entry}`;

interface Checkout {
  readonly root: string;
  readonly git: (...args: readonly string[]) => void;
  readonly problems: () => string[];
}

function releasable(t: Ending): Checkout {
  const root = temporaryDirectory(t);
  const who = ['-c', 'user.name=a', '-c', 'user.email=a@b.example'];
  const git = (...args: readonly string[]): void =>
    void execFileSync('git', [...who, ...args], { cwd: root, stdio: 'ignore' });
  for (const name of ['package.json', 'npm-shrinkwrap.json'])
    writeFileSync(join(root, name), '{ "version": "1.2.3" }');
  writeFileSync(join(root, 'CHANGELOG.md'), changelog);
  git('init');
  git('add', '.');
  git('commit', '--message', 'all');
  return { root, git, problems: () => findReleaseProblems(root, readRelease(root)) };
}

test('a clean tree with an entry for its version, and no tag, can be released', (t) => {
  assert.deepEqual(releasable(t).problems(), []);
});

test('uncommitted changes, a tagged version and a version that differs from the lock file are reported', (t) => {
  const { root, git, problems } = releasable(t);
  writeFileSync(join(root, 'npm-shrinkwrap.json'), '{ "version": "1.2.2" }');
  git('tag', 'v1.2.3');
  const [changed = '', tagged = '', locked = '', ...more] = problems();
  assert.match(changed, /^the tree is not clean: commit or remove\nM npm-shrinkwrap\.json$/);
  assert.match(tagged, /^v1\.2\.3 is tagged already/);
  assert.match(locked, /^npm-shrinkwrap\.json has another version than 1\.2\.3/);
  assert.deepEqual(more, []);
});

test('a version without three numbers is refused', (t) => {
  const { root } = releasable(t);
  writeFileSync(join(root, 'package.json'), '{ "version": "1.2" }');
  assert.throws(() => readRelease(root), /expected a version like 1\.2\.3, not 1\.2$/);
});

test('an entry has a date and begins with an Upgrade paragraph on each of four topics', () => {
  const problems = (text: string): string[] => findChangelogProblems(text, '1.2.3');
  assert.deepEqual(problems(changelog), []);
  const spoilt: readonly (readonly [from: string, to: string, problem: RegExp])[] = [
    [entry, '', /has no entry: ## \[1\.2\.3\] - YYYY-MM-DD$/],
    ['2026-11-23', 'unreleased', /the entry of 1\.2\.3 has no day/],
    [upgrade, '', /has to have ### Upgrade, for operators$/],
    [upgrade, `### Added\n\n- That.\n\n${upgrade}`, /has to begin with ### Upgrade/],
    ['- **Closes**: every session, once.\n', '', /does not say: - \*\*Closes\*\*: …$/],
    ['**Settings**: none.', '**Settings**:', /does not say: - \*\*Settings\*\*: …$/],
  ];
  for (const [from, to, problem] of spoilt) {
    const [told = '', ...more] = problems(changelog.replace(from, to));
    assert.match(told, problem);
    assert.deepEqual(more, []);
  }
});

test('the unreleased changes can become a release: their Upgrade paragraph is complete', () => {
  const dated = readFromRoot('CHANGELOG.md').replace(/^## \[.*$/m, '## [9.9.9] - 2026-11-23');
  assert.deepEqual(findChangelogProblems(dated, '9.9.9'), []);
});

/** Verifies the signature as docs/releasing.md describes. */
function verify(folder: string, publicKey: string): void {
  const key = ['-pubin', '-inkey', publicKey];
  const signed = ['-rawin', '-in', 'SHA256SUMS', '-sigfile', 'SHA256SUMS.sig'];
  const options = { cwd: folder, stdio: 'ignore' } as const;
  execFileSync('openssl', ['pkeyutl', '-verify', ...key, ...signed], options);
  execFileSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], options);
}

test(
  'signed files pass, and a changed file, a changed checksum or another key fails',
  { skip: noOpenssl || (process.platform !== 'linux' && 'sha256sum has another name there') },
  (t) => {
    const keys = temporaryDirectory(t);
    const made = (name: string): { secret: string; open: string } => {
      const [secret, open] = [join(keys, `${name}.key`), join(keys, `${name}.pub`)];
      execFileSync('openssl', ['genpkey', '-algorithm', 'ed25519', '-out', secret]);
      execFileSync('openssl', ['pkey', '-in', secret, '-pubout', '-out', open]);
      chmodSync(secret, 0o600);
      return { secret, open };
    };
    const [own, other] = [made('own'), made('other')];
    const folder = temporaryDirectory(t);
    writeFileSync(join(folder, 'b.tgz'), 'the server');
    writeFileSync(join(folder, 'a.tgz'), 'the client');
    const sums = writeSums(folder);
    assert.match(sums, /^[0-9a-f]{64} {2}a\.tgz\n[0-9a-f]{64} {2}b\.tgz\n$/);
    signSums(folder, readSigningKey(own.secret));
    verify(folder, own.open);
    assert.throws(() => verify(folder, other.open), /pkeyutl/);
    appendFileSync(join(folder, 'a.tgz'), '!');
    assert.throws(() => verify(folder, own.open), /sha256sum/);
    writeFileSync(
      join(folder, 'SHA256SUMS'),
      readFileSync(join(folder, 'SHA256SUMS'), 'utf8').replace('a', 'b'),
    );
    assert.throws(() => verify(folder, own.open), /pkeyutl/);
  },
);

test(
  'a key that others can read, a key of another kind and a file without a key are refused',
  { skip: noOpenssl },
  (t) => {
    const key = join(temporaryDirectory(t), 'key');
    const make = (algorithm: string): void =>
      void execFileSync('openssl', ['genpkey', '-algorithm', algorithm, '-out', key]);
    make('ed25519');
    chmodSync(key, 0o644);
    if (process.platform !== 'win32')
      assert.throws(() => readSigningKey(key), /can be read by others: chmod 600/);
    make('x25519');
    chmodSync(key, 0o600);
    assert.throws(
      () => readSigningKey(key),
      /is a key of another kind \(x25519\): make one with openssl genpkey/,
    );
    writeFileSync(key, 'no key');
    assert.throws(() => readSigningKey(key), /is no private key in PEM, or has a passphrase/);
  },
);
