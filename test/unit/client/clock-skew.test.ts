import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outsideWindow } from '../../../src/protocol/tgv1/auth-failure.ts';
import type { WireReply } from '../../../src/client/http-transport.ts';
import { playScript, refused, success } from '../../support/scripted-transport.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** Initial wall time of a driven clock. */
const ourMs = Date.UTC(2026, 10, 20, 8, 30, 0);

function outside(serverMs: number): WireReply {
  return refused(40105, {}, outsideWindow(serverMs).message);
}

test('a clock-skew refusal corrects the clock, and the call is signed again at once', async () => {
  const { clock, transport, client } = playScript([outside(ourMs + 20 * minuteMs), success({})]);
  assert.equal((await client.connectivity('D')).ok, true);
  assert.deepEqual(transport.sent('X-Tg-Date'), ['20261120T083000Z', '20261120T085000Z']);
  assert.equal(clock.pendingTimers, 0);
});

test('the correction applies to later calls, and advances with the local clock', async () => {
  const { clock, transport, client } = playScript([outside(ourMs - hourMs), success({}), success({})]);
  await client.connectivity('D');
  clock.advance(1000);
  await client.sendMessage('D', 'hello', {});
  assert.deepEqual(transport.sent('X-Tg-Date').slice(1), ['20261120T073000Z', '20261120T073001Z']);
});

test('the clock is corrected for every kind of request, also without retries', async () => {
  const late = outside(ourMs + hourMs);
  const { client } = playScript([late, success({}, 202)], { attemptsMax: 1 });
  assert.equal((await client.wake('D')).ok, true);
  const { client: another } = playScript([late, success({})], { attemptsMax: 1 });
  assert.equal((await another.sendMessage('D', 'hello', {})).ok, true);
});

test('a second clock-skew refusal is not retried', async () => {
  const { transport, client } = playScript([outside(ourMs + hourMs), outside(ourMs + 2 * hourMs)]);
  const result = await client.connectivity('D');
  assert.deepEqual([result.ok, !result.ok && result.code], [false, 40105]);
  assert.equal(transport.requests.length, 2);
});

test('a local clock that is set right later is corrected again', async () => {
  const { clock, transport, client } = playScript([
    outside(ourMs + hourMs),
    success({}),
    outside(ourMs + hourMs),
    success({}),
  ]);
  await client.connectivity('D');
  clock.stepWall(hourMs);
  await client.connectivity('D');
  assert.deepEqual(transport.sent('X-Tg-Date').slice(2), ['20261120T103000Z', '20261120T093000Z']);
});

test('concurrent calls are all corrected', async () => {
  const serverMs = ourMs + hourMs;
  const { transport, client } = playScript([outside(serverMs), outside(serverMs), success({}), success({})]);
  const results = await Promise.all([client.connectivity('D'), client.connectivity('E')]);
  assert.deepEqual(
    results.map(({ ok }) => ok),
    [true, true],
  );
  assert.deepEqual(transport.sent('X-Tg-Date').slice(2), ['20261120T093000Z', '20261120T093000Z']);
});

test('a skew of more than a day is ignored', async () => {
  for (const serverMs of [ourMs + 24 * hourMs + 1000, ourMs - 24 * hourMs - 1000]) {
    const { transport, client } = playScript([outside(serverMs), success({})]);
    assert.equal((await client.connectivity('D')).ok, false);
    await client.connectivity('D');
    assert.deepEqual(transport.sent('X-Tg-Date'), ['20261120T083000Z', '20261120T083000Z']);
  }
});

test('no other refusal corrects the clock', async () => {
  const said = outsideWindow(ourMs + hourMs).message;
  const others = [
    refused(40105, {}, 'signature mismatch'),
    refused(40105, {}, `${said} or so`),
    refused(40105, {}, said.replace('093000Z', '093060Z')),
    refused(40301, {}, said),
  ];
  for (const other of others) {
    const { transport, client } = playScript([other]);
    assert.equal((await client.connectivity('D')).ok, false);
    assert.equal(transport.requests.length, 1);
  }
});
