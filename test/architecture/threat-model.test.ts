/** Checks that each row of the threat model names a test; documents.test.ts checks that the tests exist. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readFromRoot } from '../support/checkout.ts';

const page = readFromRoot('docs/threat-model.md');

test('every row of docs/threat-model.md names a test', () => {
  const rows = page.split('\n').filter((line) => line.startsWith('|'));
  const isDivider = (line: string): boolean => /^\|[\s|:-]+\|$/.test(line);
  const without = rows.filter((row, at) => {
    const isHead = isDivider(row) || isDivider(rows[at + 1] ?? '');
    return !isHead && !/`test\/[^`\s]+`/.test(row);
  });
  assert.ok(rows.length > 10, 'hardly a row is found');
  assert.deepEqual(without, []);
});

test('SECURITY.md and the threat model name each other', () => {
  assert.ok(page.includes('(../SECURITY.md)'));
  assert.ok(readFromRoot('SECURITY.md').includes('(docs/threat-model.md)'));
});
