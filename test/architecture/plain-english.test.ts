/**
 * Comments, log lines, errors, help texts, documents and names of tests are in plain English; functions are named after their effect.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { checkout, readFromRoot } from '../support/checkout.ts';
import {
  effectlessMethods,
  faultsOf,
  passagesOfCode,
  passagesOfDocument,
  passagesOfSettings,
  type Passage,
} from './plain-english.ts';

/** The check and its lists contain the words; the cluster is to be replaced; fixtures come from others. */
const exempt =
  /^test\/architecture\/(?:plain-english|vocabulary)|^src\/cluster\/|^test\/(?:[a-z]+\/)*cluster\/|^test\/(?:fixtures|protocol\/offers)\//;

const kinds = /\.(?:ts|mjs|css|md|yaml|yml|conf|cfg|service|slice)$|Caddyfile|Dockerfile|^\.ci\/run$/;

function paths(): string[] {
  return execFileSync('git', ['ls-files'], { cwd: fileURLToPath(checkout), encoding: 'utf8' })
    .split('\n')
    .filter((path) => path !== '' && !exempt.test(path));
}

function passagesOf(path: string, text: string): Passage[] {
  if (/\.(?:ts|mjs|css)$/.test(path)) return passagesOfCode(text, path.startsWith('test/'));
  if (path.endsWith('.md')) return passagesOfDocument(text);
  return /^(?:config|deploy|\.ci)\/|^docs\/openapi\.yaml$/.test(path) ? passagesOfSettings(text) : [];
}

function faultsIn(path: string, text: string): string[] {
  const names = path.endsWith('.ts') ? effectlessMethods(text) : [];
  return [...passagesOf(path, text).flatMap(faultsOf), ...names];
}

test('comments, log lines, errors, documents, test names and functions are in plain English', () => {
  let passages = 0;
  const faults: string[] = [];
  for (const path of paths()) {
    if (!kinds.test(path)) continue;
    const text = readFromRoot(path);
    passages += passagesOf(path, text).length;
    faults.push(...faultsIn(path, text).map((fault) => `${path}:${fault}`));
  }
  assert.ok(passages > 20_000, `only ${passages} texts were read`);
  assert.deepEqual(faults, []);
});

const codeFaults = (text: string): number => faultsIn('src/x.ts', text).length;

test('the check sees a clause without its noun at the beginning of a comment, a log line, an error and a later sentence', () => {
  for (const text of [
    '/** Of the same: ends a call. */',
    '/** Ends a call. Who asks again gets the same answer. */',
    '/**\n * Ends a call.\n *\n * What is sent is counted.\n */',
    '// whether it is open\nconst a = 1;',
    "log.warn('who may still be here cannot be read');",
    'throw new Error(`where ${name} listens is not known`);',
    "const help = 'For who has no account here.';",
  ])
    assert.equal(codeFaults(text), 1, text);
  assert.equal(
    faultsIn('test/unit/x.test.ts', "test('what is full refuses the next one', () => {});").length,
    1,
  );
});

test('the check sees the phrases, in the middle of a text as well', () => {
  for (const phrase of [
    'told',
    'tried on',
    'left out:',
    'goes on',
    'anew',
    "nobody's",
    'let in',
    'half of them',
  ])
    assert.equal(codeFaults(`/** A session is ${phrase} 3 devices. */`), 1, phrase);
  assert.equal(
    faultsIn('docs/x.md', 'A paragraph.\n\n- Whose call it is\n\n| a | how it ends |\n').length,
    2,
  );
  assert.equal(faultsIn('config/x.conf', '# Of each process: its files.\nlimit 3;\n').length, 1);
  assert.equal(faultsIn('docs/openapi.yaml', 'a:\n  description: Whether it is open.\n').length, 1);
});

test('the check sees functions that are named after no effect', () => {
  for (const text of [
    'class A {\n  take(): Frame {}\n}',
    'class A {\n  async #noteUse(\n    id: string,\n  ): Promise<void> {}\n}',
    'interface A {\n  look(at: number): void;\n}',
    'interface A {\n  readonly heard: (text: string) => void;\n}',
    'export function settle(): void {}',
    'class A {\n  readonly goOn = async () => undefined;\n}',
  ])
    assert.equal(codeFaults(text), 1, text);
});

test('the check passes sentences with their nouns, questions, code and calls of functions that others named', () => {
  for (const text of [
    '/** Ends a call on behalf of a backend; the application that placed it is notified. */',
    "const question = 'What is the id of the device?';",
    "const path = 'of/the/log';",
    'stream.take(3);\n  iterator.take(3);\n  lookUp(name);',
    'class A {\n  takeaway(): void {}\n  giveUp(): void {}\n}',
    'const form = /of what we have/;',
  ])
    assert.equal(codeFaults(text), 0, text);
  assert.equal(faultsIn('docs/x.md', '```\nwhat is this here\n```\n\nA `told` field.\n').length, 0);
});
