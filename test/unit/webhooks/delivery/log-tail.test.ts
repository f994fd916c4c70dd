import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { tailEventsMax } from '../../../../src/webhooks/delivery/limits.ts';
import { LogTail } from '../../../../src/webhooks/delivery/log-tail.ts';
import { MemoryLog } from '../../../support/webhook-scene.ts';

function tailOf(count: number): { readonly log: MemoryLog; readonly tail: LogTail } {
  const log = new MemoryLog();
  for (let i = 0; i < count; i++) log.append('device');
  const tail = new LogTail(log);
  tail.advance(count);
  return { log, tail };
}

const sequences = (events: readonly { readonly sequence: number }[]): number[] =>
  events.map(({ sequence }) => sequence);

test('the latest events are read from the log once, whatever the number of hooks', () => {
  const { log, tail } = tailOf(10);
  for (let hook = 0; hook < 100; hook++) assert.deepEqual(sequences(tail.read(7, 100)), [8, 9, 10]);
  assert.equal(log.reads, 1);
  log.append('device');
  tail.advance(11);
  for (let hook = 0; hook < 100; hook++) assert.deepEqual(sequences(tail.read(10, 100)), [11]);
  assert.equal(log.reads, 2);
});

test('no event beyond the head is read, and the head never decreases', () => {
  const { log, tail } = tailOf(3);
  log.append('device');
  assert.deepEqual(sequences(tail.read(0, 100)), [1, 2, 3]);
  assert.deepEqual(tail.read(3, 100), []);
  tail.advance(2);
  assert.equal(tail.head, 3);
});

test('a read from any position returns the events of the log', () => {
  const count = 3 * tailEventsMax;
  const { log } = tailOf(count);
  const reads = fc.array(
    fc.record({ after: fc.nat(count), limit: fc.integer({ min: 1, max: 300 }), head: fc.nat(count) }),
    { minLength: 1, maxLength: 60 },
  );
  fc.assert(
    fc.property(reads, (asked) => {
      const tail = new LogTail(log);
      for (const { after, limit, head } of asked) {
        tail.advance(head);
        const got = sequences(tail.read(after, limit));
        assert.deepEqual(got, sequences(log.read(after, got.length, tail.head)));
        assert.ok(got.length > 0 || after >= tail.head, 'something is read while there is something');
        assert.ok(got.length <= limit);
      }
    }),
  );
});
