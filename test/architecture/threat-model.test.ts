/** The threat model names the tests of each of its rows, and those tests are there. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { countRows, rowsWithoutTest, testsNamed } from './named-tests.ts';
import { checkout, readFromRoot } from '../support/checkout.ts';

const page = readFromRoot('docs/threat-model.md');

test('every test that docs/threat-model.md names is there', () => {
  assert.ok(testsNamed(page).length > 0);
  const missing = testsNamed(page).filter((path) => !existsSync(new URL(path, checkout)));
  assert.deepEqual(
    missing,
    [],
    'docs/threat-model.md names tests that do not exist: put the right paths there',
  );
});

test('every row of docs/threat-model.md names a test', () => {
  assert.ok(countRows(page) > 0);
  assert.deepEqual(rowsWithoutTest(page), []);
});

test('SECURITY.md and the threat model name each other', () => {
  assert.ok(page.includes('(../SECURITY.md)'));
  assert.ok(readFromRoot('SECURITY.md').includes('(docs/threat-model.md)'));
});

test('the check sees a row without a test and a test that is named twice, and takes no head for a row', () => {
  const table =
    '| tries | test |\n| ----- | ---- |\n| a | `test/a.test.ts` `test/b.test.ts` |\n| b | `test/a.test.ts` |\n';
  assert.deepEqual(testsNamed(table), ['test/a.test.ts', 'test/b.test.ts']);
  assert.equal(countRows(table), 2);
  assert.deepEqual(rowsWithoutTest(table), []);
  assert.deepEqual(rowsWithoutTest(`${table}| c | none |\n`), ['| c | none |']);
});
