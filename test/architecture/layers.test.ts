/** Checks the tree, and proves with a canary that each check works. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  browserViolations,
  emptyLayers,
  filesInFolderMax,
  folderViolations,
  importCycles,
  layerViolations,
} from './layers.ts';
import { barrels, lengthViolations, nameViolations, worldViolations } from './code-rules.ts';
import { readSources, sourceFile, type SourceFile } from './source-tree.ts';

const sources = readSources();

test('the checks read every layer and its imports', () => {
  assert.ok(sources.length > 0, 'no file under src/');
  assert.ok(sources.flatMap(({ imports }) => imports).length > sources.length, 'hardly an import was seen');
  assert.deepEqual(emptyLayers(sources), []);
});

test('a file imports only from lower layers and from its own', () => {
  assert.deepEqual(layerViolations(sources), []);
});

test('browser code imports only types of the server', () => {
  assert.deepEqual(browserViolations(sources), []);
});

test('imports form no cycle', () => {
  assert.deepEqual(importCycles(sources), []);
});

test('no folder has too many files or levels', () => {
  assert.deepEqual(folderViolations(sources), []);
});

test('no file is a barrel', () => {
  assert.deepEqual(barrels(sources), []);
});

test('only permitted files read the time and the environment', () => {
  assert.deepEqual(worldViolations(sources), []);
});

test('files are short and have specific kebab-case names', () => {
  assert.deepEqual(lengthViolations(sources), []);
  assert.deepEqual(nameViolations(sources), []);
});

function planted(files: Readonly<Record<string, string>>): SourceFile[] {
  return Object.entries(files).map(([path, text]) => sourceFile(path, text));
}

/** A file with `count` code lines and many lines that do not count. */
function lines(count: number): string {
  return '// a comment\n\n'.repeat(300) + 'x();\n'.repeat(count);
}

const forbidden: Readonly<Record<string, string>> = {
  'an import from a higher layer': `import { x } from '../../server/config/settings.ts';`,
  'an import over several lines': `import {\n  x,\n  y,\n} from '../../server/config/settings.ts';`,
  'an import of types': `import type { X } from '../../server/config/settings.ts';`,
  'a re-export': `export { x } from "../../server/config/settings.ts";`,
  'an import for its effects': `import '../../server/config/settings.ts';`,
  'a dynamic import': `const { x } = await import('../../server/config/settings.ts');`,
  'a type taken by import': `type X = typeof import('../../server/config/settings.ts');`,
  'a layer that is none': `import { x } from '../../attic/x.ts';`,
  'a file outside src': `import { x } from '../../../run.ts';`,
  'a file without its ending': `import { x } from '../../lib/clock';`,
  'uWebSockets.js outside lib': `import { App } from 'uWebSockets.js';`,
  'ws outside its one file': `import { WebSocketServer } from 'ws';`,
};

for (const [what, text] of Object.entries(forbidden))
  test(`the layers check sees ${what}`, () => {
    assert.equal(layerViolations(planted({ 'src/gateways/api/x.ts': text })).length, 1);
  });

test('the layers check sees an import between two folders of the protocol', () => {
  const text = `import { x } from '../rest/x.ts';`;
  assert.equal(layerViolations(planted({ 'src/protocol/sleep/x.ts': text })).length, 1);
  assert.deepEqual(layerViolations(planted({ 'src/protocol/rest/y.ts': text })), []);
});

test('the layers check sees a client that imports the server', () => {
  const text = `import { x } from '../core/x.ts';`;
  assert.equal(layerViolations(planted({ 'src/client/x.ts': text })).length, 1);
});

test('the browser check sees a value of the server, and permits types, packages and its own files', () => {
  const text = [
    `import type { A } from '../gateways/ops/a.ts';`,
    `import {\n  b,\n} from '../model/b.ts';`,
    `import { c } from 'node:fs';`,
    `import { d } from './d.ts';`,
    `import { e } from 'e';`,
  ].join('\n');
  assert.deepEqual(browserViolations(planted({ 'src/console/x.ts': text, 'src/cli/y.ts': text })), [
    'src/console/x.ts imports a value of ../model/b.ts',
    'src/console/x.ts imports a value of node:fs',
  ]);
});

test('the layers check sees a file in no layer', () => {
  assert.equal(layerViolations(planted({ 'src/x.ts': '', 'src/attic/x.ts': '' })).length, 2);
});

test('the layers check permits lower layers, the own layer, packages and comments', () => {
  const text = [
    `import { a } from '../../lib/clock.ts';`,
    `import { b } from './b.ts';`,
    `import { c } from 'zod';`,
    `// import { d } from '../../server/config/settings.ts';`,
    `/* import { e } from '../../server/config/settings.ts'; */`,
    `const slashes = 'http://x'; const quote = /['"]/; /* ' */`,
    `import { f } from '../ops/ops-token.ts';`,
  ].join('\n');
  const files = planted({ 'src/gateways/api/x.ts': text });
  assert.deepEqual(files[0]?.imports, ['../../lib/clock.ts', './b.ts', 'zod', '../ops/ops-token.ts']);
  assert.deepEqual(layerViolations(files), []);
});

test('the folder check sees a folder with too many files and one that is too deep', () => {
  const names = Array.from({ length: filesInFolderMax + 1 }, (_, number) => [`src/lib/x${number}.ts`, '']);
  assert.deepEqual(folderViolations(planted(Object.fromEntries(names.slice(1)))), []);
  assert.equal(folderViolations(planted(Object.fromEntries(names))).length, 1);
  assert.equal(folderViolations(planted({ 'src/core/calls/legs/x.ts': '' })).length, 1);
  assert.deepEqual(folderViolations(planted({ 'src/core/calls/x.ts': '' })), []);
});

test('the cycle check sees a cycle of three, once', () => {
  const circle = planted({
    'src/core/a.ts': `import './b.ts';`,
    'src/core/b.ts': `import type { C } from './c.ts';`,
    'src/core/c.ts': `import './a.ts'; import './d.ts';`,
    'src/core/d.ts': '',
  });
  assert.deepEqual(importCycles(circle), [
    'src/core/a.ts -> src/core/b.ts -> src/core/c.ts -> src/core/a.ts',
  ]);
});

test('the barrel check sees a barrel and no other file', () => {
  const files = planted({
    'src/core/barrel.ts': `/** All. */\nexport * from './a.ts';\nexport type { B } from './b.ts';\n`,
    'src/core/own.ts': `export type { B } from './b.ts';\nexport const own = 1;\n`,
    'src/core/empty.ts': '',
  });
  assert.deepEqual(barrels(files), ['src/core/barrel.ts is a barrel']);
});

test('the world check sees clocks, timers and the environment, and not in comments', () => {
  const worldly = [
    'process.env.X',
    'Date.now()',
    'new Date()',
    'performance.now()',
    'setTimeout(f)',
    'setInterval(f)',
  ];
  for (const use of [...worldly, `import { setImmediate } from 'node:timers';`])
    assert.equal(worldViolations(planted({ 'src/core/x.ts': use })).length, 1, use);
  assert.deepEqual(worldViolations(planted({ 'src/core/x.ts': '// Date.now()\nnew Date(ms);' })), []);
  assert.deepEqual(worldViolations(planted({ 'src/lib/system-clock.ts': 'Date.now()' })), []);
});

test('the name and length checks see bad names and long files', () => {
  const names = [
    'src/core/Camel.ts',
    'src/core/snake_case.ts',
    'src/core/x.js',
    'src/core/index.ts',
    'src/core/queue-util.ts',
  ];
  assert.equal(
    nameViolations(planted(Object.fromEntries(names.map((name) => [name, ''])))).length,
    names.length,
  );
  assert.equal(lengthViolations(planted({ 'src/core/x.ts': lines(221) })).length, 1);
  assert.equal(lengthViolations(planted({ 'src/core/x.ts': lines(220) })).length, 0);
});
