import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ApplicationLines, type LineKey } from '../../../../src/core/devices/application-lines.ts';
import type { ApplicationId } from '../../../../src/model/ids.ts';

const [a, b, c] = ['a', 'b', 'c'] as ApplicationId[] as [ApplicationId, ApplicationId, ApplicationId];

interface Person {
  readonly name: string;
  place: number;
  readonly lines: readonly LineKey[];
}

function person(place: number, lines: readonly LineKey[]): Person {
  return { name: `${place}`, place, lines };
}

const anybody = (): boolean => true;

test('the first item is the one with the lowest place in any of the lines, in any order of arrival', () => {
  const lines = new ApplicationLines<Person>();
  for (const one of [person(3, [a]), person(1, [b]), person(2, [a, b]), person(4, [null])]) lines.add(one);
  const first = (...keys: LineKey[]): string | undefined => lines.first(keys, anybody)?.name;
  assert.deepEqual(
    [first(a), first(b), first(null), first(a, b), first(null, a), first(c), first()],
    ['2', '1', '4', '1', '2', undefined, undefined],
  );
});

test('an item that does not fit is skipped', () => {
  const lines = new ApplicationLines<Person>();
  for (const place of [5, 1, 4, 2]) lines.add(person(place, [a]));
  assert.equal(lines.first([a], ({ place }) => place > 2)?.place, 4);
  assert.equal(
    lines.first([a], ({ place }) => place > 5),
    null,
  );
});

test('a removed item is in no line; removing it twice, or without adding it, changes nothing', () => {
  const lines = new ApplicationLines<Person>();
  const [here, gone, stranger] = [person(1, [a, null]), person(2, [a, b]), person(3, [a])];
  lines.add(here);
  lines.add(gone);
  lines.remove(gone);
  lines.remove(gone);
  lines.remove(stranger);
  assert.equal(lines.first([b], anybody), null);
  assert.equal(lines.first([a], anybody), here);
});

test('lines agree with a sorted list on every walk', () => {
  const keys = [a, b, null];
  const lineKeys = fc.uniqueArray(fc.constantFrom<LineKey[]>(...keys), { minLength: 1 });
  const places = fc.uniqueArray(fc.nat({ max: 1000 }), { maxLength: 60 });
  fc.assert(
    fc.property(places, fc.array(lineKeys, { minLength: 60, maxLength: 60 }), (order, wanted) => {
      const lines = new ApplicationLines<Person>();
      const people: Person[] = [];
      for (const [index, place] of order.entries()) {
        const one = person(place, wanted[index] ?? [a]);
        lines.add(one);
        people.push(one);
        if (place % 3 === 0) lines.remove(people.splice(place % people.length, 1)[0] ?? one);
        for (const key of keys) {
          const inLine = people.filter(({ lines: stands }) => stands.includes(key));
          const least = inLine.toSorted((one, other) => one.place - other.place)[0] ?? null;
          assert.equal(lines.first([key], anybody), least);
        }
      }
    }),
  );
});
