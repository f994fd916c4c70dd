/** Tests which requests are retried, per endpoint: the table of docs/client.md. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ReveilleProtocolError,
  ReveilleUnreachableError,
  type ApiResult,
  type ReveilleClient,
} from '../../../src/client/reveille-client.ts';
import type { FailureCode } from '../../../src/model/codes.ts';
import {
  playScript,
  refused,
  reply,
  untilIdle,
  success,
  unanswered,
  unsent,
  type ScriptEntry,
} from '../../support/scripted-transport.ts';

type Ask = (client: ReveilleClient) => Promise<ApiResult<object, FailureCode>>;

const body = {
  msg_session_key: 'k',
  msg_room_id: 'r',
  msg_session_token: 't',
  msg_app_id: 'a',
  device_id: 'D',
  msg_model_id: 'm',
  audio_rate: 8000,
  audio_channels: 1,
  no_video: true,
} as const;

const asks = {
  connectivity: (client) => client.connectivity('D'),
  'connectivity of several': (client) => client.connectivityOf(['D']),
  'wakeup outcome': (client) => client.wakeupOutcome('r'),
  events: (client) => client.events(),
  'call status': (client) => client.callStatus('D'),
  wakeup: (client) => client.wake('D'),
  message: (client) => client.sendMessage('D', 'hello', {}),
  'call credentials': (client) => client.issueCallCredentials(body),
  'call end': (client) => client.endCall('D', { session: 's' }),
} as const satisfies Record<string, Ask>;
type Endpoint = keyof typeof asks;
const endpoints = Object.keys(asks) as Endpoint[];
const queries: readonly Endpoint[] = [
  'connectivity',
  'connectivity of several',
  'wakeup outcome',
  'events',
  'call status',
];

/** Returns whether a first attempt with this end is retried. */
async function isRepeated(endpoint: Endpoint, first: ScriptEntry): Promise<boolean> {
  const { clock, transport, client } = playScript([first, success({})]);
  const asked = asks[endpoint](client).catch(() => undefined);
  await untilIdle();
  clock.advance(60_000);
  await asked;
  return transport.requests.length === 2;
}

const endings: readonly (readonly [
  name: string,
  ending: () => ScriptEntry,
  repeated: readonly Endpoint[],
])[] = [
  ['that could not be sent', unsent, endpoints],
  ['without an answer', unanswered, [...queries, 'wakeup', 'call credentials', 'call end']],
  [
    'answered by a gateway',
    () => reply(502, '<html>'),
    [...queries, 'wakeup', 'call credentials', 'call end'],
  ],
  ['answered by something else', () => reply(500, '<html>'), []],
  ['answered 42901', () => refused(42901), [...queries, 'wakeup', 'call end']],
  [
    'answered 42901 with a time',
    () => refused(42901, { 'retry-after': '1' }),
    [...queries, 'wakeup', 'call credentials', 'call end'],
  ],
  ['answered 50301', () => refused(50301), [...queries, 'wakeup', 'call credentials', 'call end']],
  ['answered 50402', () => refused(50402), ['wakeup']],
  ['answered 50204', () => refused(50204), []],
  ['answered 50000', () => refused(50000), []],
  ['answered 50401', () => refused(50401), []],
  ['answered 40412', () => refused(40412), []],
  ['answered 40105', () => refused(40105), []],
];

for (const [name, ending, repeated] of endings)
  test(`a request ${name} is retried after: ${repeated.join(', ') || 'none'}`, async () => {
    const found: Endpoint[] = [];
    for (const endpoint of endpoints) if (await isRepeated(endpoint, ending())) found.push(endpoint);
    assert.deepEqual(found, repeated);
  });

test('every attempt gets a new signature with its own time', async () => {
  const { clock, transport, client } = playScript([unanswered(), success({})], { delayMsMin: 1000 });
  const asked = client.connectivity('D');
  await untilIdle();
  clock.advance(1000);
  await asked;
  assert.deepEqual(transport.sent('X-Tg-Date'), ['20261120T083000Z', '20261120T083001Z']);
  const [first, second] = transport.sent('Authorization');
  assert.notEqual(first, second);
});

test('backoff doubles up to its maximum, and ends with the attempts', async () => {
  const settings = { attemptsMax: 5, delayMsMin: 200, delayMsMax: 500 };
  const { clock, transport, client } = playScript(Array.from({ length: 5 }, unsent), settings);
  const asked = client.connectivity('D').catch((error: unknown) => error);
  for (const [made, delayMs] of [200, 400, 500, 500].entries()) {
    await untilIdle();
    clock.advance(delayMs - 1);
    await untilIdle();
    assert.equal(transport.requests.length, made + 1);
    clock.advance(1);
  }
  assert.ok((await asked) instanceof ReveilleUnreachableError);
  assert.equal(transport.requests.length, 5);
});

test('jitter shortens the backoff by up to half', async () => {
  const { clock, client } = playScript([unsent(), success({})], {}, () => 0.999_999);
  const asked = client.connectivity('D');
  await untilIdle();
  clock.advance(101);
  assert.equal((await asked).ok, true);
});

test('a Retry-After, also of a proxy, is added to the backoff', async () => {
  const headers = { 'retry-after': '2' };
  for (const first of [refused(50301, headers), reply(503, 'full', headers)]) {
    const { clock, transport, client } = playScript([first, success({})]);
    const asked = client.wake('D');
    await untilIdle();
    clock.advance(2199);
    await untilIdle();
    assert.equal(transport.requests.length, 1);
    clock.advance(1);
    assert.equal((await asked).ok, true);
  }
});

test('a response with a Retry-After above the maximum is returned, with its seconds', async () => {
  const { clock, client } = playScript([refused(42901, { 'retry-after': '11' })]);
  const result = await client.wake('D');
  assert.deepEqual([result.ok, !result.ok && result.retryAfterS], [false, 11]);
  assert.equal(clock.pendingTimers, 0);
});

test('a single attempt is never retried', async () => {
  for (const ending of [unsent(), unanswered(), reply(503, 'full')]) {
    const { clock, client } = playScript([ending], { attemptsMax: 1 });
    await assert.rejects(
      client.connectivity('D'),
      ending instanceof Error ? ReveilleUnreachableError : ReveilleProtocolError,
    );
    assert.equal(clock.pendingTimers, 0);
  }
  const { client } = playScript([refused(50301)], { attemptsMax: 1 });
  assert.equal((await client.connectivity('D')).ok, false);
});

test('the constructor rejects an infinite number of attempts', () => {
  for (const attemptsMax of [0, Number.NaN, Infinity]) assert.throws(() => playScript([], { attemptsMax }));
});

test('a wakeup has one request id and one signature for all attempts, generated if none is given', async () => {
  const { clock, transport, client } = playScript([
    refused(50402),
    unanswered(),
    success({}, 202),
    success({}, 202),
  ]);
  const asked = client.wake('D');
  await untilIdle();
  clock.advance(200);
  await untilIdle();
  clock.advance(400);
  await asked;
  await client.wake('D');
  const [first, second, third, another] = transport.sent('X-Request-ID');
  assert.match(String(first), /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  assert.deepEqual([second, third], [first, first]);
  assert.notEqual(another, first);
  const signed = transport.sent('Authorization');
  assert.deepEqual([signed[1], signed[2]], [signed[0], signed[0]]);
  assert.notEqual(signed[3], signed[0]);
});

test('the request id of the caller is used', async () => {
  const { transport, client } = playScript([success({}, 202)]);
  await client.wake('D', { requestId: ' order-77 ' });
  assert.deepEqual(transport.sent('X-Request-ID'), ['order-77']);
  for (const requestId of ['', '  ', 'é', 'a'.repeat(129)])
    await assert.rejects(client.wake('D', { requestId }), RangeError);
});

test('two equal calls of the same second have different signatures: neither repeats the other', async () => {
  const { transport, client } = playScript([success({}), success({}), success({}, 202), success({}, 202)]);
  await client.sendMessage('D', 'hello', {});
  await client.sendMessage('D', 'hello', {});
  await client.wake('D');
  await client.wake('D');
  const [one, another, wake, anotherWake] = transport.sent('Authorization');
  assert.notEqual(one, another);
  assert.notEqual(wake, anotherWake);
});

test('a call that is aborted during its backoff is not retried', async () => {
  const { clock, transport, client } = playScript([unsent()]);
  const ending = new AbortController();
  const asked = client.connectivity('D', { signal: ending.signal });
  await untilIdle();
  ending.abort(new Error('no longer wanted'));
  await assert.rejects(asked, /no longer wanted/);
  assert.equal(clock.pendingTimers, 0);
  assert.equal(transport.requests.length, 1);
});
