/** Checks the decision records: their form, their list, and those statements that a program can check. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { checkout } from '../support/checkout.ts';

const folder = new URL('docs/adr/', checkout);

function read(path: string, base = folder): string {
  return readFileSync(new URL(path, base), 'utf8');
}

const names = readdirSync(folder)
  .filter((name) => name !== 'README.md')
  .sort();

const recordForm =
  /^# (\d{4}): (.+)\n\n## Status\n\n(?:Proposed|Accepted|Superseded by \d{4})\.\n[^]*?\n## Context\n\n[^#][^]*?\n## Decision\n\n[^#][^]*?\n## Consequences\n\n[^#]/;

test('every record has a unique number, a title and the four parts, and the index lists it', () => {
  assert.ok(names.length > 0);
  const rows = names.map((name) => {
    const [, number = '', title = ''] = recordForm.exec(read(name)) ?? assert.fail(name);
    assert.ok(name.startsWith(`${number}-`), name);
    return [number, name, title];
  });
  assert.equal(new Set(rows.map(([number]) => number)).size, rows.length);
  const listed = read('README.md').matchAll(/^\| \[(\d{4})\]\((\S+)\) +\| (.+?) +\|$/gm);
  assert.deepEqual(
    Array.from(listed, ([, ...row]) => row),
    rows,
  );
});

test('every package and override has its reason in 0006, and every reason its package', () => {
  const stated = JSON.parse(read('package.json', checkout)) as Record<
    'dependencies' | 'optionalDependencies' | 'devDependencies' | 'overrides',
    Record<string, string>
  >;
  const { devDependencies, overrides } = stated;
  const dependencies = { ...stated.dependencies, ...stated.optionalDependencies };
  const tables = packageTables(read('0006-dependencies.md'));
  assert.deepEqual(
    tables.map((table) => new Set(table)),
    [dependencies, devDependencies, overrides].map((packages) => new Set(Object.keys(packages))),
  );
  for (const version of Object.values({ ...dependencies, ...devDependencies, ...overrides }))
    assert.match(version, /^(npm:[\w-]+@)?\d+\.\d+\.\d+$/, 'versions are exact');
});

/** Package names in the first column of each table. */
function packageTables(text: string): string[][] {
  const tables = text.split(/\n\n+/).filter((block) => block.startsWith('| package '));
  return tables.map((table) => [...table.matchAll(/^\| `([^`]+)`/gm)].map(([, name = '']) => name));
}

test('0002 has the hash of the archive in the lock file, and of the binaries that are installed', () => {
  const record = read('0002-uwebsockets-repack.md');
  const lock = JSON.parse(read('npm-shrinkwrap.json', checkout)) as {
    packages: Record<string, { version?: string; integrity?: string }>;
  };
  const { version, integrity } = lock.packages['node_modules/uWebSockets.js'] ?? {};
  assert.ok(record.includes(`npm:uws-pack@${version}`));
  assert.ok(record.includes(String(integrity)));
  const later = JSON.parse(read('deploy/node24/package-lock.json', checkout)) as typeof lock;
  const { version: laterVersion, integrity: laterIntegrity } =
    later.packages['node_modules/@btc-vision/uwebsockets.js'] ?? {};
  assert.ok(record.includes(`@btc-vision/uwebsockets.js@${laterVersion}`));
  assert.ok(record.includes(String(laterIntegrity)));
  const binaries = [...record.matchAll(/`(uws_\w+\.node)` +\| `([0-9a-f]{64})`/g)];
  assert.equal(binaries.length, 2);
  for (const [, file = '', sha256] of binaries) {
    const path = new URL(`node_modules/uWebSockets.js/dist/bin/${file}`, checkout);
    // The official package, swapped in as the record describes, has its binaries elsewhere.
    if (existsSync(path)) assert.equal(createHash('sha256').update(readFileSync(path)).digest('hex'), sha256);
  }
});
