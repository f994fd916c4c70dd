import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Crowd } from '../../../src/lib/connections/crowd.ts';

test('the oldest connection of the address that has the most is evicted first', () => {
  const crowd = new Crowd<string>();
  for (const member of ['a1', 'b1', 'a2', 'c1', 'a3']) crowd.add(member.slice(0, 1), member);
  assert.equal(crowd.evict(), 'a1');
  assert.equal(crowd.evict(), 'a2');
  assert.equal(crowd.countOf('a'), 1);
  assert.equal(crowd.size, 3);
});

test('a connection that proved itself is never evicted', () => {
  const crowd = new Crowd<string>();
  crowd.add('a', 'a1');
  crowd.add('a', 'a2');
  crowd.delete('a', 'a1');
  assert.equal(crowd.evict(), 'a2');
  assert.equal(crowd.evict(), null);
});

test('an address that is spared loses none of its connections', () => {
  const crowd = new Crowd<string>();
  for (const member of ['a1', 'a2', 'b1']) crowd.add(member.slice(0, 1), member);
  crowd.deleteAddress('a');
  assert.equal(crowd.evict(), 'b1');
  assert.equal(crowd.size, 0);
});

test('a crowd evicts as a list that is searched each time does', () => {
  const address = fc.constantFrom('a', 'b', 'c', 'd');
  const step = fc.oneof(
    fc.record({ act: fc.constant('add' as const), address }),
    fc.record({ act: fc.constant('delete' as const), at: fc.nat(20) }),
    fc.record({ act: fc.constant('spare' as const), address }),
    fc.record({ act: fc.constant('evict' as const) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const crowd = new Crowd<number>();
      let list: { address: string; member: number }[] = [];
      let next = 0;
      const count = (wanted: string): number => list.filter((one) => one.address === wanted).length;
      for (const one of steps) {
        if (one.act === 'add') {
          crowd.add(one.address, next);
          list.push({ address: one.address, member: next++ });
        } else if (one.act === 'spare') {
          crowd.deleteAddress(one.address);
          list = list.filter((other) => other.address !== one.address);
        } else if (one.act === 'delete') {
          const [gone] = list.splice(one.at, 1);
          if (gone !== undefined) crowd.delete(gone.address, gone.member);
        } else {
          const most = Math.max(0, ...list.map((other) => count(other.address)));
          const oldestOfLargest = new Map<string, number>();
          for (const other of list)
            if (count(other.address) === most && !oldestOfLargest.has(other.address))
              oldestOfLargest.set(other.address, other.member);
          const evicted = crowd.evict();
          if (evicted === null) assert.equal(list.length, 0);
          else assert.ok([...oldestOfLargest.values()].includes(evicted));
          list = list.filter((other) => other.member !== evicted);
        }
        assert.equal(crowd.size, list.length);
      }
    }),
  );
});
