/** Checks that README is short and has the parts that a newcomer looks for. */
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { test } from 'node:test';
import { checkout, readFromRoot } from '../support/checkout.ts';
import { isShell, readBlocks } from '../support/document-blocks.ts';

const readme = readFromRoot('README.md');
const wordsMax = 700;
const pictureBytesMax = 100_000;

test('README has less than 700 words', () => {
  const words = readme.split(/\s+/).filter((word) => word !== '').length;
  assert.ok(words < wordsMax, `${words} words`);
});

test('README has the commands that start and test a checkout, word for word', () => {
  const blocks = readBlocks(readme).filter(isShell);
  const commands = new Set(blocks.flatMap(({ text }) => text.split('\n')));
  assert.ok(commands.has('npm ci && npm start'));
  assert.ok(commands.has('npm ci && npm test'));
});

test('README has a small picture for light and for dark pages', () => {
  const pictures = Array.from(readme.matchAll(/\b(?:src|srcset)="([^"]+)"/g), ([, path = '']) => path);
  assert.equal(pictures.length, 2);
  assert.match(readme, /media="\(prefers-color-scheme: dark\)"/);
  for (const path of pictures) assert.ok(statSync(new URL(path, checkout)).size < pictureBytesMax, path);
});
