/** Compares `docs/reference/troubleshooting.md` with the error sentences in the source. */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { checkout, readFromRoot } from '../support/checkout.ts';

/**
 * Error sentences that the program prints, as they stand in the source: the first text passed to each maker, with `…` for
 * inserted values. `docs/reference/troubleshooting.md` explains them.
 */

/**
 * Functions that make an error for a person, including the refusal of a request that a command has sent. A call without a text
 * passes on another error's sentence.
 */
const makers =
  /(?:(?:\bnew (?:CommandError|StoreOpenError|AuditRefusal|OpsUnavailableError)|\busageError|#problems\.push|\bwrong|(?<![#.])\brefuse)\((?:\w+, )?|\{ error: )\s*/g;

function errorSentences(source: string): string[] {
  return Array.from(source.matchAll(makers), (made) => readText(source, made.index + made[0].length)).filter(
    (sentence) => /\p{L}{3}/u.test(sentence),
  );
}

/** The string literal at this position; empty: none. */
function readText(source: string, from: number): string {
  const quote = source[from] ?? '';
  if (!`'"\``.includes(quote)) return '';
  let text = '';
  for (let at = from + 1; at < source.length && source[at] !== quote; at += 1) {
    if (source[at] === '\\') {
      at += 1;
      text += source[at] === 'n' ? ' ' : (source[at] ?? '');
    } else if (quote === '`' && source.startsWith('${', at)) {
      at = endOfExpression(source, at + 2);
      text += text.endsWith('…') ? '' : '…';
    } else text += source[at] ?? '';
  }
  return text.replace(/\s+/g, ' ').trim();
}

/** Position of the closing brace. */
function endOfExpression(source: string, from: number): number {
  let depth = 1;
  for (let at = from; at < source.length; at += 1) {
    if (source[at] === '{') depth += 1;
    if (source[at] === '}') depth -= 1;
    if (depth === 0) return at;
  }
  return source.length;
}

const source = new URL('src/', checkout);
const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter((path) => /\.m?[jt]s$/.test(path))
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

test('a sentence is found in every form of literal', () => {
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
