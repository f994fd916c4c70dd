/** The house as it stands, and proof that each check sees what it is for. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyRooms, floorViolations, importCycles } from './floors.ts';
import { barrels, lengthViolations, nameViolations, worldViolations } from './house-rules.ts';
import { readSources, sourceFile, type SourceFile } from './source-tree.ts';

const sources = readSources();

test('the checks look at every room of the house and at its imports', () => {
  assert.ok(sources.length > 0, 'no file under src/');
  assert.ok(sources.flatMap(({ imports }) => imports).length > sources.length, 'hardly an import was seen');
  assert.deepEqual(emptyRooms(sources), []);
});

test('a file imports only from lower floors and from its own room', () => {
  assert.deepEqual(floorViolations(sources), []);
});

test('no imports go in a circle', () => {
  assert.deepEqual(importCycles(sources), []);
});

test('no file is a barrel', () => {
  assert.deepEqual(barrels(sources), []);
});

test('time and environment are read only where they may be', () => {
  assert.deepEqual(worldViolations(sources), []);
});

test('files are short and have kebab-case names that say something', () => {
  assert.deepEqual(lengthViolations(sources), []);
  assert.deepEqual(nameViolations(sources), []);
});

function planted(files: Readonly<Record<string, string>>): SourceFile[] {
  return Object.entries(files).map(([path, text]) => sourceFile(path, text));
}

/** Lines that are code, and as many as one likes that are not. */
function lines(count: number): string {
  return '// a comment\n\n'.repeat(300) + 'x();\n'.repeat(count);
}

const uphill: Readonly<Record<string, string>> = {
  'an import from a higher floor': `import { x } from '../server/settings.ts';`,
  'an import over several lines': `import {\n  x,\n  y,\n} from '../server/settings.ts';`,
  'an import of types': `import type { X } from '../server/settings.ts';`,
  'a re-export': `export { x } from "../server/settings.ts";`,
  'an import for its effects': `import '../server/settings.ts';`,
  'a dynamic import': `const { x } = await import('../server/settings.ts');`,
  'a type taken by import': `type X = typeof import('../server/settings.ts');`,
  'a room beside it': `import { x } from '../sleep-gateway/x.ts';`,
  'a room that is none': `import { x } from '../cellar/x.ts';`,
  'a file outside the house': `import { x } from '../run.ts';`,
  'a file without its ending': `import { x } from '../base/clock';`,
  'the front end behind its door': `import { App } from 'uWebSockets.js';`,
  'WebSockets beside theirs': `import { WebSocketServer } from 'ws';`,
};

for (const [what, text] of Object.entries(uphill))
  test(`the floors check sees ${what}`, () => {
    assert.equal(floorViolations(planted({ 'src/http/x.ts': text })).length, 1);
  });

test('the floors check sees a file in no room', () => {
  assert.equal(floorViolations(planted({ 'src/x.ts': '', 'src/cellar/x.ts': '' })).length, 2);
});

test('the floors check takes lower floors, the own room, packages and comments', () => {
  const text = [
    `import { a } from '../base/clock.ts';`,
    `import { b } from './b.ts';`,
    `import { c } from 'zod';`,
    `// import { d } from '../server/settings.ts';`,
    `/* import { e } from '../server/settings.ts'; */`,
    `const slashes = 'http://x'; const quote = /['"]/; /* ' */`,
    `import { f } from '../domain/ids.ts';`,
  ].join('\n');
  const [file] = planted({ 'src/http/x.ts': text });
  assert.deepEqual(file?.imports, ['../base/clock.ts', './b.ts', 'zod', '../domain/ids.ts']);
  assert.deepEqual(floorViolations(planted({ 'src/http/x.ts': text })), []);
});

test('the circle check sees a circle of three, once', () => {
  const circle = planted({
    'src/http/a.ts': `import './b.ts';`,
    'src/http/b.ts': `import type { C } from './c.ts';`,
    'src/http/c.ts': `import './a.ts'; import './d.ts';`,
    'src/http/d.ts': '',
  });
  assert.deepEqual(importCycles(circle), [
    'src/http/a.ts -> src/http/b.ts -> src/http/c.ts -> src/http/a.ts',
  ]);
});

test('the barrel check sees a barrel and no other file', () => {
  const files = planted({
    'src/http/barrel.ts': `/** All. */\nexport * from './a.ts';\nexport type { B } from './b.ts';\n`,
    'src/http/door.ts': `export type { B } from './b.ts';\nexport const door = 1;\n`,
    'src/http/empty.ts': '',
  });
  assert.deepEqual(barrels(files), ['src/http/barrel.ts is a barrel']);
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
    assert.equal(worldViolations(planted({ 'src/http/x.ts': use })).length, 1, use);
  assert.deepEqual(worldViolations(planted({ 'src/http/x.ts': '// Date.now()\nnew Date(ms);' })), []);
  assert.deepEqual(worldViolations(planted({ 'src/lib/system-clock.ts': 'Date.now()' })), []);
});

test('the name and length checks see bad names and long files', () => {
  const names = [
    'src/http/Camel.ts',
    'src/http/snake_case.ts',
    'src/http/x.js',
    'src/http/index.ts',
    'src/http/queue-util.ts',
  ];
  assert.equal(
    nameViolations(planted(Object.fromEntries(names.map((name) => [name, ''])))).length,
    names.length,
  );
  assert.equal(lengthViolations(planted({ 'src/http/x.ts': lines(221) })).length, 1);
  assert.equal(lengthViolations(planted({ 'src/http/x.ts': lines(220) })).length, 0);
});
