import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Crowd, provingGraceMs } from '../../../src/lib/connections/crowd.ts';

test('the oldest connection of the address that has the most is evicted first', () => {
  const crowd = new Crowd<string>();
  for (const member of ['a1', 'b1', 'a2', 'c1', 'a3']) crowd.add(member.slice(0, 1), member);
  assert.equal(crowd.evict(), 'a1');
  assert.equal(crowd.evict(), 'a2');
  assert.equal(crowd.countOf('a'), 1);
  assert.equal(crowd.size, 3);
});

test('an authenticated connection is never evicted', () => {
  const crowd = new Crowd<string>();
  crowd.add('a', 'a1');
  crowd.add('a', 'a2');
  crowd.delete('a', 'a1');
  assert.equal(crowd.evict(), 'a2');
  assert.equal(crowd.evict(), null);
});

test('a protected address loses none of its connections', () => {
  const crowd = new Crowd<string>();
  for (const member of ['a1', 'a2', 'b1']) crowd.add(member.slice(0, 1), member);
  crowd.deleteAddress('a');
  assert.equal(crowd.evict(), 'b1');
  assert.equal(crowd.size, 0);
});

test('a crowd evicts like a naive model, a list that is searched each time', () => {
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

const limits = { max: 4, perAddressMax: 3 };

/** Members are named by their address and a number. */
function crowdOf(members: readonly string[], sinceMs = 0): Crowd<string> {
  const crowd = new Crowd<string>();
  for (const member of members) crowd.add(member.slice(0, 1), member, sinceMs);
  return crowd;
}

/** The evicted one; null: none was needed; false: there is no room. */
function newcomer(crowd: Crowd<string>, address: string, nowMs: number): string | null | false {
  let gone: string | null = null;
  const hasRoom = crowd.makeRoom(address, nowMs, limits, (member) => (gone = member));
  return hasRoom && gone;
}

test('no connection is evicted while there is room', () => {
  assert.equal(newcomer(crowdOf(['a1', 'a2', 'b1']), 'c', provingGraceMs), null);
});

test('within its grace a connection yields only to an address that has fewer', () => {
  const crowd = crowdOf(['a1', 'a2', 'b1', 'c1']);
  assert.deepEqual(
    ['a', 'b', 'd'].map((address) => newcomer(crowd, address, provingGraceMs - 1)),
    [false, false, 'a1'],
  );
});

test('after its grace it yields to any newcomer, of its own address too', () => {
  const crowd = crowdOf(['a1', 'b1', 'c1', 'd1']);
  assert.deepEqual(
    [newcomer(crowd, 'a', provingGraceMs), newcomer(crowd, 'e', provingGraceMs)],
    ['a1', null],
  );
});

test('an address at its bound evicts one of its own, and only after the grace', () => {
  const crowd = crowdOf(['a1', 'a2', 'a3']);
  assert.deepEqual(
    [newcomer(crowd, 'a', provingGraceMs - 1), newcomer(crowd, 'a', provingGraceMs)],
    [false, 'a1'],
  );
});

test('a crowd with a maximum of 0 admits no connection', () => {
  const crowd = new Crowd<string>();
  assert.equal(crowd.makeRoom('a', 0, { max: 0, perAddressMax: 0 }, assert.fail), false);
});
