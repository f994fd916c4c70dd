import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { KeptEvents, ticketOf, type Ticket } from '../../../../src/webhooks/delivery/hook-queues.ts';
import { WriteBuffer } from '../../../../src/webhooks/delivery/write-buffer.ts';
import { webhookLimits as limits } from '../../../../src/webhooks/delivery/limits.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeLog } from '../../../support/fakes.ts';
import { MemoryDeliveryStore } from '../../../support/memory-delivery-store.ts';
import { loggedEvent } from '../../../support/webhook-scene.ts';

const record = {
  number: 1,
  cursor: 0,
  parked: 0,
  switchedOff: null,
  lastSuccessAtMs: null,
  lastFailure: null,
};
const deliveries = new MemoryDeliveryStore();
const writeBuffer = new WriteBuffer({ deliveries, clock: new DrivenClock(), log: new FakeLog(), limits });

function due(dueMs: number, sequence: number): Ticket {
  return { ...ticketOf(loggedEvent(sequence, 'device'), 1, true), dueMs };
}

test('the earliest that is due comes first, of equal ones the older event, and none before its time', () => {
  const moves = fc.array(fc.oneof(fc.record({ dueMs: fc.nat(20) }), fc.constant(null)), { maxLength: 200 });
  fc.assert(
    fc.property(moves, (asked) => {
      const kept = new KeptEvents({ id: 'hook', number: 1, record: () => record }, writeBuffer, 0, 1);
      const model: Ticket[] = [];
      for (const [sequence, move] of asked.entries()) {
        model.sort((a, b) => a.dueMs - b.dueMs || a.sequence - b.sequence);
        assert.equal(kept.due.nextDueMs, model[0]?.dueMs ?? null);
        if (move === null) {
          const nowMs = 10;
          const expected = (model[0]?.dueMs ?? Infinity) <= nowMs ? (model.shift() ?? null) : null;
          assert.equal(kept.due.take(nowMs), expected);
        } else {
          const ticket = due(move.dueMs, sequence);
          model.push(ticket);
          kept.restore(ticket);
        }
      }
    }),
  );
});
