import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { DueQueue } from '../../../../src/webhooks/delivery/kept-events.ts';
import { ticketOf, type Ticket } from '../../../../src/webhooks/delivery/first-attempts.ts';
import { loggedEvent } from '../../../support/webhook-scene.ts';

function due(dueMs: number, sequence: number): Ticket {
  return { ...ticketOf(loggedEvent(sequence, 'device'), 1, true), dueMs };
}

test('the earliest that is due comes first, of equal ones the older event, and none before its time', () => {
  const moves = fc.array(fc.oneof(fc.record({ dueMs: fc.nat(20) }), fc.constant(null)), { maxLength: 200 });
  fc.assert(
    fc.property(moves, (asked) => {
      const queue = new DueQueue();
      const model: Ticket[] = [];
      for (const [sequence, move] of asked.entries()) {
        model.sort((a, b) => a.dueMs - b.dueMs || a.sequence - b.sequence);
        assert.equal(queue.nextDueMs, model[0]?.dueMs ?? null);
        if (move === null) {
          const nowMs = 10;
          const expected = (model[0]?.dueMs ?? Infinity) <= nowMs ? (model.shift() ?? null) : null;
          assert.equal(queue.take(nowMs), expected);
        } else {
          const ticket = due(move.dueMs, sequence);
          model.push(ticket);
          queue.push(ticket);
        }
      }
    }),
  );
});
