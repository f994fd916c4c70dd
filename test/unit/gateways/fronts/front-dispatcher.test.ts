import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'node:test';
import { fail, succeed } from '../../../../src/lib/result.ts';
import {
  frontBatchBytesMax,
  frontBatchRowsMax,
  frontCallBytesMax,
  frontCallsMax,
  frontCallsPerApplicationMax,
  frontRefusalsMax,
} from '../../../../src/model/http-limits.ts';
import type { ApplicationId, RequestId } from '../../../../src/model/ids.ts';
import type { AdmittedCall } from '../../../../src/gateways/api/dispatcher.ts';
import { coded, plain, type Reply, type Route } from '../../../../src/gateways/api/route.ts';
import { FrontDispatcher } from '../../../../src/gateways/fronts/front-dispatcher.ts';
import type {
  CallRow,
  FromFront,
  OrderRow,
  RefusedRow,
} from '../../../../src/gateways/fronts/front-messages.ts';
import { otherApp, testApp } from '../../../support/fakes.ts';
import { demoCredential } from '../../../support/signed-requests.ts';

function route(overrides: Partial<Route>): Route {
  return {
    name: 'test',
    method: 'GET',
    path: '/v1/test',
    permission: 'connectivity:read',
    limit: null,
    ...plain,
    parse: () => succeed(null),
    handle: () => done,
    ...overrides,
  };
}

const done: Reply = { code: 0, message: 'success', data: null };
const query = route({});
const wakeup = route({ ...coded, path: '/v1/wakeup', recordsAddress: true });

class FakeCall implements AdmittedCall {
  readonly credential;
  readonly requestId;
  readonly signature = 'signature';
  readonly signatureExpiresMs = 60_000;
  readonly startedMs = 0;
  readonly bodyBytes: number;
  deviceId = null;
  isLongPoll = false;
  hangUp: () => void = () => undefined;

  constructor(id: string, appId = testApp, bodyBytes = 0) {
    this.credential = { ...demoCredential, appId };
    this.requestId = { id: id as RequestId, origin: 'caller' } as const;
    this.bodyBytes = bodyBytes;
  }

  get provenAppId(): ApplicationId {
    return this.credential.appId;
  }

  get claimedAppId(): string {
    return this.credential.appId;
  }

  remoteAddress(): string {
    return '192.0.2.1';
  }

  onGone(listener: () => void): void {
    this.hangUp = listener;
  }
}

class Scene {
  readonly batches: (readonly OrderRow[])[] = [];
  readonly dispatcher = new FrontDispatcher([query, wakeup], (message) => this.#receive(message));

  /** `name`: its request id. */
  dispatch(
    name: string,
    appId?: ApplicationId,
    bodyBytes?: number,
  ): FakeCall & { reply: Reply | Promise<Reply> } {
    const call = new FakeCall(name, appId, bodyBytes);
    return Object.assign(call, { reply: this.dispatcher.dispatch(query, succeed(null), call) });
  }

  /** Fills the queue for this application. */
  fill(count: number, appId?: ApplicationId): void {
    for (let i = 0; i < count; i++) assert.ok(this.dispatch(`filling ${i}`, appId).reply instanceof Promise);
  }

  refuse(count: number, status = 401): void {
    const reply: Reply = { code: 40105, message: 'no', data: '{"explained":1}' };
    for (let i = 0; i < count; i++)
      this.dispatcher.refused(
        { route: query, status, reply, authFailure: 'signature_mismatch' },
        new FakeCall(`refused ${i}`),
      );
  }

  /** Acknowledges a batch as completed, without replies. */
  acknowledge(count = 1): void {
    this.dispatcher.replied(count, []);
  }

  /** The id of the first call sent to the core. */
  get firstId(): number {
    const row = this.batches.flat().find(isCall);
    assert.ok(row !== undefined, 'a call went to the core');
    return row[1];
  }

  #receive(message: FromFront): void {
    assert.ok(message.kind === 'orders');
    this.batches.push(message.rows);
  }
}

const isCall = (row: OrderRow): row is CallRow => row[0] === 0;
const isRefusal = (row: OrderRow): row is RefusedRow => row[0] === 2;
const names = (rows: readonly OrderRow[] = []): string[] => rows.filter(isCall).map((row) => row[4]);

test('the calls of a turn go to the core in one batch, after the turn', async () => {
  const scene = new Scene();
  scene.dispatch('a');
  await Promise.resolve();
  scene.dispatch('b');
  assert.equal(scene.batches.length, 0);
  await turn();
  assert.deepEqual(scene.batches.map(names), [['a', 'b']]);
});

test('a call carries its credential, identity, parameters, and an address if its route records it', async () => {
  const scene = new Scene();
  scene.dispatcher.dispatch(wakeup, fail('no device'), new FakeCall('ring-1'));
  scene.dispatch('query-1');
  await turn();
  const [first, second] = scene.batches[0] as readonly CallRow[];
  assert.deepEqual(
    [first?.[2], first?.[3], first?.[4], first?.[5], first?.[9], first?.[10]],
    [1, demoCredential.accessKeyId, 'ring-1', 'caller', '192.0.2.1', fail('no device')],
  );
  assert.deepEqual([second?.[2], second?.[9], second?.[10]], [0, null, succeed(null)]);
});

test('each call is answered by its own reply', async () => {
  const scene = new Scene();
  const [first, second] = [scene.dispatch('a'), scene.dispatch('b')];
  await turn();
  const [a, b] = scene.batches[0] as readonly CallRow[];
  scene.dispatcher.replied(1, [
    [b?.[1] ?? 0, { ...done, data: '"b"' }],
    [a?.[1] ?? 0, { ...done, data: '"a"' }],
  ]);
  assert.deepEqual([(await first.reply).data, (await second.reply).data], ['"a"', '"b"']);
});

test('two batches are in flight; later calls wait, and go as one when a batch is acknowledged', async () => {
  const scene = new Scene();
  for (const name of ['a', 'b', 'c', 'd']) {
    scene.dispatch(name);
    await turn();
  }
  assert.deepEqual(scene.batches.map(names), [['a'], ['b']]);
  scene.acknowledge();
  assert.deepEqual(scene.batches.map(names), [['a'], ['b'], ['c', 'd']]);
});

test('a batch is limited in rows, and in bytes, which a single body may exceed', async () => {
  const scene = new Scene();
  scene.fill(frontBatchRowsMax + 1);
  await turn();
  assert.deepEqual(
    scene.batches.map((rows) => rows.length),
    [frontBatchRowsMax, 1],
  );
  scene.acknowledge(2);
  scene.dispatch('a', testApp, frontBatchBytesMax + 1);
  scene.dispatch('b', testApp, 1);
  await turn();
  assert.deepEqual(scene.batches.slice(2).map(names), [['a'], ['b']]);
});

test('an application that has used its share of the queue is refused with 50301, another one is accepted', () => {
  const scene = new Scene();
  scene.fill(frontCallsPerApplicationMax);
  const reply = scene.dispatch('one too many').reply;
  const full = {
    code: 50301,
    message: 'too many requests are waiting for the server',
    data: null,
    retryAfterS: 1,
  };
  assert.deepEqual(reply, full);
  assert.ok(scene.dispatch('another', otherApp).reply instanceof Promise);
});

test('a share of the queue is free again when its calls have gone to the core', async () => {
  const scene = new Scene();
  scene.fill(frontCallsPerApplicationMax);
  await turn();
  assert.equal(scene.batches.length, 2);
  assert.ok(scene.dispatch('a').reply instanceof Promise);
});

test('a full queue refuses every application, and reports it', async () => {
  const scene = new Scene();
  const applications = frontCallsMax / frontCallsPerApplicationMax;
  for (let i = 0; i < applications; i++) scene.fill(frontCallsPerApplicationMax, `app ${i}` as ApplicationId);
  const refused = scene.dispatcher.dispatch(wakeup, succeed(null), new FakeCall('one too many', otherApp));
  assert.deepEqual(refused, {
    code: 50301,
    message: 'too many requests are waiting for the server',
    data: null,
    retryAfterS: 1,
  });
  await turn();
  while (!scene.batches.flat().some(isRefusal)) scene.acknowledge();
  const row = scene.batches.flat().find(isRefusal);
  assert.deepEqual([row?.[1], row?.[2], row?.[3].code, row?.[4]], [1, 503, 50301, 'one too many']);
});

test('waiting bodies are limited in bytes', async () => {
  const scene = new Scene();
  const half = frontCallBytesMax / 2;
  assert.ok(scene.dispatch('a', testApp, half).reply instanceof Promise);
  assert.ok(scene.dispatch('b', testApp, half).reply instanceof Promise);
  assert.equal((await scene.dispatch('c', testApp, 1).reply).code, 50301);
  await turn();
  assert.ok(scene.dispatch('d', testApp, 1).reply instanceof Promise);
});

test('a hang-up is reported once, after its call, and the reply is ignored', async () => {
  const scene = new Scene();
  scene.fill(frontBatchRowsMax * 2);
  const gone = scene.dispatch('gone');
  gone.hangUp();
  gone.hangUp();
  await turn();
  scene.acknowledge();
  const [, , last] = scene.batches;
  assert.deepEqual(
    last?.map(([kind]) => kind),
    [0, 1],
  );
  const [call, report] = last as readonly [CallRow, readonly [1, number]];
  assert.equal(report[1], call[1]);
  scene.dispatcher.replied(1, [[call[1], done]]);
  assert.equal(await Promise.race([gone.reply, Promise.resolve('no reply')]), 'no reply');
});

test('a hang-up is reported while calls of others wait', async () => {
  const scene = new Scene();
  const gone = scene.dispatch('gone');
  await turn();
  scene.fill(frontBatchRowsMax * 2);
  gone.hangUp();
  await turn();
  assert.deepEqual(scene.batches[1]?.at(-1), [1, scene.firstId]);
});

test('a hang-up after the reply is not reported', async () => {
  const scene = new Scene();
  const call = scene.dispatch('a');
  await turn();
  scene.dispatcher.replied(1, [[scene.firstId, done]]);
  call.hangUp();
  await turn();
  assert.equal(scene.batches.length, 1, 'it was answered: nobody waits at the core');
});

test('refusals are sent without their data, after the calls', async () => {
  const scene = new Scene();
  scene.refuse(1);
  scene.dispatch('a');
  await turn();
  assert.deepEqual(
    scene.batches[0]?.map(([kind]) => kind),
    [0, 2],
  );
  const row = scene.batches[0]?.find(isRefusal);
  assert.deepEqual(row?.[3], { code: 40105, message: 'no', data: null });
  assert.deepEqual(row?.slice(9), ['signature_mismatch', 1]);
});

test('refusals beyond the limit are counted, in one row per metric label', async () => {
  const scene = new Scene();
  scene.refuse(frontRefusalsMax + 3);
  scene.refuse(2, 200);
  await turn();
  for (let sent = 0; sent < scene.batches.length; sent++) scene.acknowledge();
  const rows = scene.batches.flat().filter(isRefusal);
  assert.equal(rows.length, frontRefusalsMax + 2);
  assert.deepEqual(
    rows.filter((row) => row[10] > 1).map((row) => [row[2], row[10]]),
    [
      [401, 3],
      [200, 2],
    ],
  );
});

test('calls waiting at a front are counted, and so are those refused because of a full queue', () => {
  const scene = new Scene();
  scene.dispatch('first');
  scene.fill(frontCallsPerApplicationMax - 1);
  scene.dispatch('one too many');
  const { waitingCalls, refusedCalls } = scene.dispatcher;
  assert.deepEqual([waitingCalls, refusedCalls], [frontCallsPerApplicationMax, 1]);
});
