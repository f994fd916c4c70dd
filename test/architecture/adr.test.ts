/** The decision records: one form, one list, and what can be checked of what they say. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { indexViolations, numberViolations, packageTables, recordViolations } from './decision-records.ts';
import { checkout } from '../support/checkout.ts';

const folder = new URL('docs/adr/', checkout);

function read(path: string, base = folder): string {
  return readFileSync(new URL(path, base), 'utf8');
}

const names = readdirSync(folder)
  .filter((name) => name !== 'README.md')
  .sort();
const records = names.map((name) => ({ name, text: read(name) }));

test('there are decision records', () => {
  assert.ok(records.length > 0);
});

test('every record has its number, a title and the four parts, none of them empty', () => {
  assert.deepEqual(records.flatMap(recordViolations), []);
});

test('each number is used once', () => {
  assert.deepEqual(numberViolations(names), []);
});

test('the index lists every record by its title, and nothing else', () => {
  assert.deepEqual(indexViolations(read('README.md'), records), []);
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

test('0002 has the hash of the archive in the lock file, and of the binaries that are installed', () => {
  const record = read('0002-uwebsockets-repack.md');
  const lock = JSON.parse(read('package-lock.json', checkout)) as {
    packages: Record<string, { version?: string; integrity?: string }>;
  };
  const { version, integrity } = lock.packages['node_modules/uWebSockets.js'] ?? {};
  assert.ok(record.includes(`npm:uws-pack@${version}`));
  assert.ok(record.includes(String(integrity)));
  const binaries = [...record.matchAll(/`(uws_\w+\.node)` +\| `([0-9a-f]{64})`/g)];
  assert.equal(binaries.length, 2);
  for (const [, file = '', sha256] of binaries) {
    const path = new URL(`node_modules/uWebSockets.js/dist/bin/${file}`, checkout);
    // The official source, swapped in as the record says, keeps its binaries elsewhere.
    if (existsSync(path)) assert.equal(createHash('sha256').update(readFileSync(path)).digest('hex'), sha256);
  }
});

const parts = '## Status\n\nAccepted.\n\n## Context\n\nx\n\n## Decision\n\nx\n\n## Consequences\n\nx\n';

test('the check of records sees a wrong number, a missing title, and parts that are missing, misplaced or empty', () => {
  const good = { name: '0001-a-thing.md', text: `# 0001: A thing\n\n${parts}` };
  assert.deepEqual(recordViolations(good), []);
  const wrong = {
    number: good.text.replace('0001', '0002'),
    title: parts,
    status: good.text.replace('Accepted.', 'Maybe.'),
    missing: good.text.replace('## Context', '## Background'),
    misplaced: good.text.replace('Context', 'X').replace('Decision', 'Context').replace('X', 'Decision'),
    empty: good.text.replace(/x\n$/, ''),
  };
  for (const [what, text] of Object.entries(wrong))
    assert.equal(recordViolations({ ...good, text }).length, 1, what);
  assert.equal(recordViolations({ ...good, name: 'a-thing.md' }).length, 1);
});

test('the check of numbers sees a double', () => {
  assert.equal(numberViolations(['0001-a.md', '0003-b.md']).length, 0);
  assert.equal(numberViolations(['0001-a.md', '0001-b.md']).length, 1);
});

test('the check of the index sees a record left out, one that is not there, and another title', () => {
  const all = [{ name: '0001-a.md', text: '# 0001: A thing\n' }];
  const row = '| [0001](0001-a.md) | A thing |';
  assert.deepEqual(indexViolations(row, all), []);
  assert.equal(indexViolations('', all).length, 1);
  assert.equal(indexViolations(`${row}\n| [0002](0002-b.md) | B |`, all).length, 1);
  assert.equal(indexViolations(row.replace('A thing', 'Another'), all).length, 1);
});
