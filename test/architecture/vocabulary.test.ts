/** The vocabulary of the code, the tests and the documents, and proof that the check sees what it is for. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { foreignWords, headsWithoutNoun, type TextFile } from './vocabulary.ts';
import { checkout, readFromRoot } from '../support/checkout.ts';

/** The list of the words itself says them. */
const isList = (path: string): boolean => path.startsWith('test/architecture/vocabulary');

function read(folder: string): TextFile[] {
  return readdirSync(new URL(`${folder}/`, checkout), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:ts|md)$/.test(name))
    .map((name) => `${folder}/${name}`)
    .filter((path) => !isList(path))
    .map((path) => ({ path, text: readFromRoot(path) }));
}

const sources = read('src');
const files = [...sources, ...['test', 'bench', 'docs'].flatMap(read)];

test('names, comments and documents use the words of the field', () => {
  assert.ok(files.length > 500, 'hardly a file was read');
  assert.deepEqual(foreignWords(files), []);
});

test('the head of a file says what it is, with a noun', () => {
  assert.deepEqual(headsWithoutNoun(sources), []);
});

const planted: readonly (readonly [what: string, text: string])[] = [
  ['a type', 'export class CallDesk {}'],
  ['a part of a name', 'const lastSeatAt = 1;'],
  ['a plural', 'const shelves = [];'],
  ['a comment', '/** Told to the house. */'],
  ['a text', "log.info('a keeper is gone');"],
];

for (const [what, text] of planted)
  test(`the vocabulary check sees a word of ours in ${what}`, () => {
    assert.equal(foreignWords([{ path: 'src/x.ts', text }]).length, 1);
  });

test('the vocabulary check takes other words', () => {
  assert.deepEqual(
    foreignWords([{ path: 'src/x.ts', text: 'household, reseated, heartbeat, doorbell' }]),
    [],
  );
});

test('the head check sees a head without its noun, and none where there is one', () => {
  const head = (text: string): TextFile => ({ path: 'src/x.ts', text });
  assert.equal(headsWithoutNoun([head('/** What is kept of a call. */\n')]).length, 1);
  assert.equal(headsWithoutNoun([head('/**\n * Whether a login is good.\n */\n')]).length, 1);
  assert.deepEqual(headsWithoutNoun([head('/** The record of a call. */\n'), head('const what = 1;')]), []);
});
