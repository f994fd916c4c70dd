import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'node:test';
import { NatsSendQueue } from '../../../../src/cluster/nats/nats-send-queue.ts';
import { peerBacklogBytesMax, peerMessageBytesMax } from '../../../../src/model/limits.ts';

/** A server that answers pings when the test says so. */
class HeldConnection {
  isUnavailable = false;
  sent = 0;
  settle: ((isThere: boolean) => void)[] = [];
  readonly connection = {
    publish: (): void => {
      this.sent++;
    },
    flush: () =>
      new Promise<void>((resolve, reject) => {
        this.settle.push((isThere) => (isThere ? resolve() : reject(new Error('gone'))));
      }),
  };
}

const large = new Uint8Array(peerMessageBytesMax);
const backlog = Math.floor(peerBacklogBytesMax / peerMessageBytesMax);

function filled(): { link: HeldConnection; sendQueue: NatsSendQueue } {
  const link = new HeldConnection();
  const sendQueue = new NatsSendQueue(link);
  for (let sent = 0; sent < backlog; sent++) assert.equal(sendQueue.send('subject', large), true);
  assert.equal(sendQueue.send('subject', large), false);
  return { link, sendQueue };
}

test('what the server has not taken is bounded, and there is room when it has', async () => {
  const { link, sendQueue } = filled();
  link.settle.shift()?.(true);
  await turn();
  // The first ping was behind the first message only.
  assert.equal(sendQueue.send('subject', large), true);
  assert.equal(sendQueue.send('subject', large), false);
  link.settle.shift()?.(true);
  await turn();
  for (let sent = 0; sent < backlog - 1; sent++) assert.equal(sendQueue.send('subject', large), true);
});

test('what was on its way when the connection broke waits no more', async () => {
  const { link, sendQueue } = filled();
  for (let pings = 0; pings < 2; pings++) {
    link.settle.shift()?.(false);
    await turn();
  }
  assert.equal(sendQueue.send('subject', large), true);
});

test('while NATS is away, and when it is too large, nothing is sent', () => {
  const link = new HeldConnection();
  const sendQueue = new NatsSendQueue(link);
  assert.equal(sendQueue.send('subject', new Uint8Array(peerMessageBytesMax + 1)), false);
  link.isUnavailable = true;
  assert.equal(sendQueue.send('subject', large), false);
  assert.equal(link.sent, 0);
});
