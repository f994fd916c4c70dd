/** How blocks and the comments above them are read from a page. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { documentPages, isShell, readBlocks, skipReason } from '../../support/document-blocks.ts';

const page = `# A page

<!-- docs-test: server -->
<!-- docs-test: take KEY after the key -->

\`\`\`sh
echo "$KEY"
\`\`\`

- in a list:

  <!-- docs-test: skip it needs a moon -->

  \`\`\`console
  $ land
  \`\`\`

\`\`\`json
{}
\`\`\`
`;

test('a block has its line, its text without indentation, and the marks right above it', () => {
  const [first, second, third] = readBlocks(page);
  assert.deepEqual(first, {
    line: 6,
    language: 'sh',
    text: 'echo "$KEY"',
    marks: [
      { kind: 'server', name: '', text: '' },
      { kind: 'take', name: 'KEY', text: 'the key' },
    ],
  });
  assert(second !== undefined && third !== undefined);
  assert.deepEqual([second.text, skipReason(second)], ['$ land', 'it needs a moon']);
  assert.deepEqual([third.marks, readBlocks(page).map(isShell)], [[], [true, true, false]]);
});

test('a comment that is no mark, that gives no reason, or that no block follows is refused', () => {
  assert.throws(() => readBlocks('<!-- docs-test: ignore -->\n```sh\nx\n```'), /line 1: "ignore" is none of/);
  assert.throws(() => readBlocks('<!-- docs-test: skip -->\n```sh\nx\n```'), /none of/);
  assert.throws(() => readBlocks('<!-- docs-test: server -->\n\nProse.'), /line 3: no block follows/);
  assert.throws(() => readBlocks('```sh\nnever closed'), /ends within a block/);
});

test('the README, the documents and those beside examples and configurations are pages', () => {
  const pages = documentPages();
  for (const path of [
    'README.md',
    'docs/signing.md',
    'docs/examples/bridge/README.md',
    'config/cluster-example/README.md',
  ])
    assert.ok(pages.includes(path), path);
});
