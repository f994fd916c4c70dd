/** The documents against the tree: a file that they name is there. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { checkout } from '../support/checkout.ts';

/** A path with a folder, as documents write it: from the root, or from `src/`. */
const namedFile = /(?<![\w/.@-])((?:[a-z0-9-]+\/)+[a-z0-9.-]+\.ts)\b/g;

const documents = readdirSync(new URL('docs/', checkout), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`);

function filesNamed(text: string): string[] {
  return Array.from(text.matchAll(namedFile), ([, path = '']) => path);
}

function isThere(path: string): boolean {
  return ['', 'src/', 'test/'].some((folder) => existsSync(new URL(folder + path, checkout)));
}

test('every file that a document names is there', () => {
  const named = documents.flatMap((document) =>
    filesNamed(readFileSync(new URL(document, checkout), 'utf8')).map((path) => ({ document, path })),
  );
  assert.ok(named.length > 50, 'hardly a file is named');
  assert.deepEqual(
    named.filter(({ path }) => !isThere(path)),
    [],
  );
});

test('the check sees a file that is gone', () => {
  assert.deepEqual(filesNamed('see `core/calls/gone.ts` and [x](../src/lib/clock.ts)').map(isThere), [false]);
});
