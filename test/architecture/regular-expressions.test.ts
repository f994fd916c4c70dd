/** Checks that every regular expression of the program runs in time linear in its input, so that no client can block the loop. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { checkout } from '../support/checkout.ts';
import { findExpressions, violationOf } from './regular-expressions.ts';
import { readSources } from './source-tree.ts';

const found = readSources()
  .filter(({ path }) => path.endsWith('.ts'))
  .map(({ path }) => findExpressions(path, readFileSync(new URL(path, checkout), 'utf8')));
const literals = found.flatMap((file) => file.literals);

test('no regular expression is built from text at run time', () => {
  assert.deepEqual(
    found.flatMap((file) => file.dynamic),
    [],
  );
});

test('every regular expression is linear in its input', () => {
  assert.ok(literals.length > 100, 'hardly an expression was seen');
  const distinct = new Map(literals.map((literal) => [`/${literal.source}/${literal.flags}`, literal]));
  assert.deepEqual(
    [...distinct.values()].flatMap((literal) => violationOf(literal) ?? []),
    [],
  );
});

/** The first is the Content-Type expression with which a client once blocked the loop. */
const superlinear = [
  String.raw`/^application\/json[ \t]*(;[ \t]*charset[ \t]*=[ \t]*("utf-8"|utf-8)[ \t]*;?[ \t]*)?$/i`,
  String.raw`/^ +| +$/g`,
  String.raw`/\s*\n\s*/g`,
  String.raw`/BEGIN[\s\S]*?END/g`,
  String.raw`/^(\w+\s?)*$/`,
  String.raw`/^(a|a)*$/`,
];
for (const expression of superlinear)
  test(`the check sees that ${expression} is not linear`, () => {
    const [literal, ...more] = findExpressions('canary.ts', `export const form = ${expression};`).literals;
    assert.ok(literal !== undefined && more.length === 0);
    assert.match(violationOf(literal) ?? '', /polynomial|exponential/);
  });

test('the check sees an expression anywhere, and one built from text', () => {
  const { literals: seen, dynamic } = findExpressions(
    'canary.ts',
    [
      'class Form<T extends RegExp> { readonly #form: RegExp = /a/; take(x = /b/y): T { return x as T; } }',
      'const a = `${/c/.test("d")}`; text?.split(/e/).map((each) => each.replace(/f/g, ""));',
      'new RegExp(a); RegExp("a"); const { source } = RegExp.prototype; globalThis.RegExp(a);',
      'text.match("a+"); text?.search(`${a}`); text.matchAll("a" + a);',
    ].join('\n'),
  );
  assert.deepEqual(
    seen.map(({ source }) => source),
    ['a', 'b', 'c', 'e', 'f'],
  );
  assert.equal(dynamic.length, 7);
});
