/** Checks that files named in documents exist. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { checkout, readFromRoot } from '../support/checkout.ts';
import { documentPages } from '../support/document-blocks.ts';

/** A path with a folder in a document: from the root, or from `src/`. */
const namedFile = /(?<![\w/.@-])((?:[a-z0-9-]+\/)+[a-z0-9.-]+\.ts)\b/g;

const documents = documentPages();

function filesNamed(text: string): string[] {
  return Array.from(text.matchAll(namedFile), ([, path = '']) => path);
}

function isThere(path: string): boolean {
  return ['', 'src/', 'test/'].some((folder) => existsSync(new URL(folder + path, checkout)));
}

test('every file that a document names exists', () => {
  const named = documents.flatMap((document) =>
    filesNamed(readFromRoot(document)).map((path) => ({ document, path })),
  );
  assert.ok(named.length > 50, 'hardly a file is named');
  assert.deepEqual(
    named.filter(({ path }) => !isThere(path)),
    [],
  );
});

test('canary: the check reports a missing file', () => {
  assert.deepEqual(filesNamed('see `core/calls/gone.ts` and [x](../src/lib/clock.ts)').map(isThere), [false]);
});

/** Names in a tour that the file named before them does not contain: `path.ts`, `Class.method`. */
function missingNames(tour: string): string[] {
  const named = tour.replace(/\s+/g, ' ').matchAll(/`([a-z][a-z0-9/-]*\.ts)`,? `([A-Za-z.]+)`/g);
  return [...named].flatMap(([, path = '', name = '']) => {
    const words = new Set(readFromRoot(`src/${path}`).split(/\W+/));
    return name.split('.').every((part) => words.has(part)) ? [] : [`${path} has no ${name}`];
  });
}

test('the tour names functions and classes of their files, and no walk has more than 15 steps', () => {
  const tour = readFromRoot('docs/tour.md');
  assert.deepEqual(missingNames(tour), []);
  const steps = tour.split(/^## /m).map((part) => part.match(/^\d+\. /gm)?.length ?? 0);
  assert.equal(steps.filter((count) => count > 0).length, 4);
  assert.ok(Math.max(...steps) <= 15, `${Math.max(...steps)} steps`);
});

test('canary: the check reports a name that its file does not contain', () => {
  assert.deepEqual(
    missingNames('1. `lib/clock.ts`, `Clock.gone`: ends. `lib/clock.ts`,\n   `Clock`: runs.'),
    ['lib/clock.ts has no Clock.gone'],
  );
});

/** Targets of Markdown links to our files, from the root, without anchors. */
function linkedFiles(page: string): string[] {
  const links = readFromRoot(page).matchAll(/\]\((?!\w+:)([^)#\s]+)/g);
  return Array.from(links, ([, link = '']) => new URL(link, new URL(page, checkout)).pathname);
}

test('every link of a page leads to an existing file', () => {
  const dead = documents.flatMap((page) =>
    linkedFiles(page)
      .filter((file) => !existsSync(file))
      .map((file) => `${page}: ${file}`),
  );
  assert.deepEqual(dead, []);
});

/** Anchors of headings, as GitHub forms them. */
function placesIn(page: string): string[] {
  return Array.from(page.matchAll(/^#+ (.+)$/gm), ([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  );
}

test('every link to a section leads to an existing heading', () => {
  const links = documents.flatMap((page) =>
    Array.from(
      readFromRoot(page).matchAll(/\]\((?!\w+:)([^)#\s]*)#([^)\s]+)\)/g),
      ([, file = '', place = '']) => {
        const target = file === '' ? page : new URL(file, new URL(page, checkout)).pathname;
        return { page, target, place };
      },
    ),
  );
  assert.ok(links.length > 20, 'hardly a link is found');
  const dead = links.filter(({ target, place }) => !placesIn(readFromRoot(target)).includes(place));
  assert.deepEqual(dead, []);
});

test('docs/README.md lists every page', () => {
  const listed = new Set(linkedFiles('docs/README.md'));
  const missing = documents.filter(
    (page) =>
      page.startsWith('docs/') &&
      !/^docs\/(?:adr\/\d|README\.md$)/.test(page) &&
      !listed.has(new URL(page, checkout).pathname),
  );
  assert.deepEqual(missing, [], 'name these pages in docs/README.md');
});
