/** The figures of the code's size: what they count, on files made up for it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { largestFolder, testOnlyExports } from '../support/code-figures.ts';
import { sourceFile } from './source-tree.ts';

const value = sourceFile(
  'src/lib/a.ts',
  `/** A module. */
export const used = 1;
export function tested(): void {}
export async function loaded(): Promise<void> {}
export class Idle {}
export interface Shape {}`,
);
const user = sourceFile('src/lib/b.ts', `import { used as one, type Shape } from './a.ts';`);
const testing = sourceFile(
  'test/a.test.ts',
  `import { tested, loaded, used, type Shape } from '../src/lib/a.ts';`,
);

test('a value that a test imports and no other file does is found', () => {
  assert.deepEqual(testOnlyExports([value, user, testing]), ['src/lib/a.ts: tested', 'src/lib/a.ts: loaded']);
});

test('a file that is loaded as a whole has every value in use', () => {
  const loader = sourceFile('src/lib/c.ts', `const all = await import('./a.ts');`);
  assert.deepEqual(testOnlyExports([value, user, loader, testing]), []);
});

test('what a worker exports is called by its thread', () => {
  const worker = sourceFile('src/lib/a-worker.ts', 'export function run(): void {}');
  const its = sourceFile('test/b.test.ts', `import { run } from '../src/lib/a-worker.ts';`);
  assert.deepEqual(testOnlyExports([worker, its]), []);
});

test('the largest folder counts its own files, not those of folders below', () => {
  const below = ['src/x/a.ts', 'src/x/y/a.ts', 'src/x/y/b.ts'].map((path) => sourceFile(path, ''));
  assert.deepEqual(largestFolder(below), { folder: 'src/x/y', files: 2 });
});
