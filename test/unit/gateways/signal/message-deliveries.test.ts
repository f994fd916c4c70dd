import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import type { MessageId } from '../../../../src/model/ids.ts';
import type { DeviceMessage } from '../../../../src/model/signal.ts';
import { MessageDeliveries } from '../../../../src/gateways/signal/message-deliveries.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';

let clock: DrivenClock;
let sent: string[];
let deliveries: MessageDeliveries;
beforeEach(() => {
  clock = new DrivenClock();
  sent = [];
  deliveries = new MessageDeliveries(clock, (text) => sent.push((JSON.parse(text) as { id: string }).id));
});

function message(id: string): DeviceMessage {
  return { id: id as MessageId, name: 'hello', payload: {} };
}

test('16 messages wait and the next is busy, until one of them is answered', async () => {
  deliveries.open();
  const waiting = Array.from({ length: 16 }, (_, i) => deliveries.deliver(message(`m-${i}`)));
  assert.equal(await deliveries.deliver(message('m-16')), 'busy');
  assert.equal(sent.length, 16);
  deliveries.acknowledge('m-3');
  assert.equal(await waiting[3], 'acknowledged');
  void deliveries.deliver(message('m-17'));
  assert.equal(sent.at(-1), 'm-17');
});

test('each message has its own 5 s', async () => {
  deliveries.open();
  const first = deliveries.deliver(message('first'));
  clock.advance(3000);
  const second = deliveries.deliver(message('second'));
  clock.advance(2000);
  assert.equal(await first, 'unknown');
  deliveries.acknowledge('second');
  assert.equal(await second, 'acknowledged');
  assert.equal(clock.pendingTimers, 0);
});

test('messages queued before the welcome are sent after it in order, except expired ones', async () => {
  const first = deliveries.deliver(message('first'));
  clock.advance(4000);
  void deliveries.deliver(message('second'));
  void deliveries.deliver(message('third'));
  clock.advance(1000);
  assert.equal(await first, 'unknown');
  assert.deepEqual(sent, []);
  deliveries.open();
  deliveries.open();
  assert.deepEqual(sent, ['second', 'third']);
});

test('an end answers all waiting messages, and leaves no timer', async () => {
  deliveries.open();
  const waiting = ['a', 'b'].map((id) => deliveries.deliver(message(id)));
  deliveries.abandon();
  assert.deepEqual(await Promise.all(waiting), ['unknown', 'unknown']);
  assert.equal(clock.pendingTimers, 0);
});

test('a send that ends the connection stops the others', async () => {
  const ending: MessageDeliveries = new MessageDeliveries(clock, (text) => {
    sent.push(text);
    ending.abandon();
  });
  const waiting = ['a', 'b'].map((id) => ending.deliver(message(id)));
  ending.open();
  assert.deepEqual(await Promise.all(waiting), ['unknown', 'unknown']);
  assert.equal(sent.length, 1);
});
