/** Every published example of a registry file can be imported. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importRegistry, type ImportResult } from '../../../../src/storage/registry/registry-import.ts';
import { findKindOfList, kindNames } from '../../../../src/storage/registry/registry-kinds.ts';
import { documentPages, readBlocks } from '../../../support/document-blocks.ts';
import { readFromRoot } from '../../../support/checkout.ts';
import { temporaryStore, writeBeside, type Ending } from '../../../support/temporary-store.ts';

function importText(t: Ending, text: string, form: string): ImportResult {
  const store = temporaryStore(t);
  const file = writeBeside(store, `example.${form}`, text);
  return importRegistry(store.registry, { file, replace: true, skipUnchanged: false });
}

test('config/registry.example.json has an entry of every kind with every field, and can be imported', (t) => {
  const result = importText(t, readFromRoot('config/registry.example.json'), 'json');
  assert.ok(result.ok, result.ok ? '' : result.error.message);
  assert.ok(kindNames.every((kind) => result.value.counts[kind] > 0));
});

/** A registry file begins with a list or a kind; API bodies, which begin with an id, are on other pages. */
function isOfRegistry(path: string, text: string): boolean {
  const [, key = ''] = /^\s*\{\s*"([a-z0-9_]+)"/.exec(text) ?? [];
  return findKindOfList(key) !== null || key === 'kind' || path === 'docs/registry.md';
}

test('every example of a registry file in the documents can be imported', (t) => {
  const examples = documentPages().flatMap((path) =>
    readBlocks(readFromRoot(path))
      .filter(({ language, text }) => ['json', 'ndjson'].includes(language) && isOfRegistry(path, text))
      .map(({ language, text }) => ({ path, form: language, text })),
  );
  assert.ok(examples.length >= 3);
  for (const { path, form, text } of examples) {
    const result = importText(t, text, form);
    assert.ok(result.ok, `${path}: ${result.ok ? '' : result.error.message}\n${text}`);
  }
});
