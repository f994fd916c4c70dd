/** `docs/reference/troubleshooting.md` against the error sentences in the source. */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { checkout, readFromRoot } from '../support/checkout.ts';
import { errorSentences } from '../support/error-sentences.ts';

const source = new URL('src/', checkout);
const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => ({ path, text: readFileSync(new URL(path, source), 'utf8') }));

const page = readFromRoot('docs/reference/troubleshooting.md');
const rows = Array.from(page.matchAll(/^\| `([^`]+)`/gm), ([, sentence = '']) => sentence);

test('every error sentence of the source has its row', () => {
  const sentences = files.flatMap(({ path, text }) =>
    errorSentences(text).map((sentence) => ({ path, sentence })),
  );
  assert.ok(sentences.length > 70, 'hardly a sentence is found');
  const missing = sentences.filter(({ sentence }) => !rows.some((row) => sentence.startsWith(row)));
  assert.deepEqual(
    missing,
    [],
    'docs/reference/troubleshooting.md needs a row: | `sentence` | cause and cure |',
  );
});

test('every row has its sentence in the source', () => {
  const all = files.map(({ text }) => text).join('\n');
  const gone = rows.filter((row) => row.split('…').some((part) => !all.includes(part)));
  assert.deepEqual(
    gone,
    [],
    'no error says this any more: take the row out of docs/reference/troubleshooting.md',
  );
});

test('a sentence is read however it is written', () => {
  const text = `
    throw new CommandError('it\\'s gone', 'advice');
    throw usageError(
      \`no \${name(\`\${a}\`)}\${b} here\`,
    );
    throw new StoreOpenError(message);
    problems.push(wrong(cert, "not a file"));
    return refuse(409, 'it is taken');
    return { status: 404, body: { error: \`no device \${id}\` } };
    this.#refuse(field, 'of a file');`;
  const found = ["it's gone", 'no … here', 'not a file', 'it is taken', 'no device …'];
  assert.deepEqual(errorSentences(text), found);
});
