/** Searches code, tests and documents for terms of our own that nobody outside would understand. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { checkout, readFromRoot } from '../support/checkout.ts';

interface TextFile {
  readonly path: string;
  readonly text: string;
}

/** Standard term for each word of our own. */
const instead = new Map(
  Object.entries({
    house: 'deps or context',
    gatehouse: 'listener context',
    doorway: 'upgrade handler',
    desk: 'service',
    shelf: 'KV store',
    vault: 'repository',
    book: 'delivery store',
    ledger: 'write buffer',
    seat: 'session slot',
    displaced: 'superseded',
    burial: 'failover',
    buried: 'failed over',
    bury: 'fail over',
    reclaim: 're-registration',
    whereabouts: 'session locator',
    succession: 'leader election',
    keeper: 'coordinator',
    company: 'worker set',
    attendee: 'signal connection',
    sleeper: 'sleep connection',
    guest: 'viewer',
    lane: 'keyed queue',
    beat: 'heartbeat',
    outlet: 'send queue',
    expel: 'disconnect',
    expelled: 'disconnected',
    deaf: 'unwakeable',
  }),
);

/** Each such word in names, comments, strings and documents, with the standard term. */
function foreignWords(files: readonly TextFile[]): string[] {
  return files.flatMap(({ path, text }) => {
    const found = new Set(wordsOf(text).filter((word) => instead.has(word)));
    return [...found].map((word) => `${path} says ${word}: ${instead.get(word)}`);
  });
}

/** Lower-case words of prose and of parts of names; a plural counts as its singular. */
function wordsOf(text: string): string[] {
  return (text.match(/[A-Z]?[a-z]+/g) ?? []).map((word) => singular(word.toLowerCase()));
}

function singular(word: string): string {
  if (word.endsWith('shelves')) return 'shelf';
  const one = word.endsWith('ies') ? `${word.slice(0, -3)}y` : word.replace(/s$/, '');
  return instead.has(one) ? one : word;
}

/** The list itself contains the words. */
const isList = (path: string): boolean => path === 'test/architecture/vocabulary.test.ts';

function read(folder: string): TextFile[] {
  return readdirSync(new URL(`${folder}/`, checkout), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:ts|md)$/.test(name))
    .map((name) => `${folder}/${name}`)
    .filter((path) => !isList(path))
    .map((path) => ({ path, text: readFromRoot(path) }));
}

const files = ['src', 'test', 'bench', 'docs'].flatMap(read);

test('names, comments and documents use standard terms', () => {
  assert.ok(files.length > 500, 'hardly a file was read');
  assert.deepEqual(foreignWords(files), []);
});

test('the vocabulary check sees a word of our own, also in a part of a name or a plural, and permits other words', () => {
  const found = (text: string): number => foreignWords([{ path: 'src/x.ts', text }]).length;
  for (const text of [
    'class CallDesk {}',
    'const lastSeatAt = 1;',
    'const shelves = [];',
    '/** A keeper. */',
  ])
    assert.equal(found(text), 1, text);
  assert.equal(found('household, reseated, heartbeat, doorbell'), 0);
});
