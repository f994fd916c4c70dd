import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeviceId } from '../../../../src/model/ids.ts';
import { EventRoutes } from '../../../../src/gateways/admin/event-routes.ts';
import { operatorReadingMax, operatorsReadingMax } from '../../../../src/model/limits.ts';
import { askRoute, type RouteReply } from '../../../support/ask-route.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { DraftedEventLog, signalOffline, sleepLogin } from '../../../support/drafted-event-log.ts';

interface Answer {
  readonly events: readonly { readonly type: string; readonly device_id: string; readonly seq: number }[];
  readonly next: number;
  readonly head: number;
  readonly truncated: boolean;
  readonly draining: boolean;
}

class Scene {
  readonly clock = new DrivenClock();
  readonly events = new DraftedEventLog();
  readonly service = new EventRoutes(this);

  async ask(query: string, operator?: string): Promise<Answer> {
    const { status, body } = await this.reply(query, operator);
    assert.equal(status, 200, JSON.stringify(body));
    return body as Answer;
  }

  reply(query: string, operator = 'alice', gone = new AbortController().signal): Promise<RouteReply> {
    return askRoute(this.service.routes, 'GET', '/v1/events', query, { operator, gone });
  }
}

/** Runs everything that does not need the clock. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(() => setImmediate(resolve));
  });
}

test('an event has the form that backends receive', async () => {
  const scene = new Scene();
  scene.events.append(sleepLogin());
  const { events, next, head } = await scene.ask('after=0');
  assert.deepEqual(events, [
    {
      id: scene.events.read(0, 1)[0]?.id,
      type: 'device.sleep.login',
      at: '1970-01-01T00:16:40.000+00:00',
      device_id: 'TESTDEVICE01',
      seq: 1,
      epoch: 1,
      data: { session: 'session-1', node: 'node-1', replaced: false },
    },
  ]);
  assert.deepEqual([next, head], [1, 1]);
});

test('a follower is answered when a matching event is committed, and not by another', async () => {
  const scene = new Scene();
  const answer = scene.ask('after=0&wait=30&type=device.signal.*');
  await nextTurn();
  let isAnswered = false;
  void answer.then(() => (isAnswered = true));
  scene.events.append(sleepLogin());
  await nextTurn();
  assert.equal(isAnswered, false);
  scene.events.append(signalOffline());
  const { events, next } = await answer;
  assert.deepEqual([events.map(({ type }) => type), next], [['device.signal.offline'], 2]);
  assert.equal(scene.clock.pendingTimers, 0);
});

test('an event between reading and waiting is not missed', async () => {
  const scene = new Scene();
  const answer = scene.ask('after=0&wait=30');
  scene.events.append(sleepLogin());
  assert.equal((await answer).events.length, 1);
});

test('a wait without events times out with the place to pass back', async () => {
  const scene = new Scene();
  scene.events.append(sleepLogin());
  const answer = scene.ask('after=1&wait=30&device_id=OTHER');
  await nextTurn();
  scene.events.append(sleepLogin());
  scene.clock.advance(30_000);
  const { events, next } = await answer;
  assert.deepEqual([events, next], [[], 2]);
  assert.equal(scene.clock.pendingTimers, 0);
});

test('concurrent reads are limited per operator and in total; an answer frees a slot', async () => {
  const scene = new Scene();
  const operators = Array.from({ length: operatorsReadingMax / operatorReadingMax }, (_, at) => `op-${at}`);
  const waiting: Promise<Answer>[] = [];
  for (const operator of operators) {
    for (let at = 0; at < operatorReadingMax; at++) waiting.push(scene.ask('after=0&wait=30', operator));
    await nextTurn();
    assert.equal((await scene.reply('after=0', operator)).status, 503, 'one operator has its share');
    const isFull = waiting.length === operatorsReadingMax;
    assert.equal((await scene.reply('after=0')).status, isFull ? 503 : 200);
  }
  scene.events.append(sleepLogin());
  assert.equal((await Promise.all(waiting)).length, operatorsReadingMax);
  assert.equal((await scene.reply('after=0')).status, 200);
});

test('an operator who hangs up frees the slot at once', async () => {
  const scene = new Scene();
  const hangUp = new AbortController();
  const waiting = Array.from({ length: operatorReadingMax }, () =>
    scene.reply('after=0&wait=30', 'alice', hangUp.signal),
  );
  await nextTurn();
  assert.equal((await scene.reply('after=0')).status, 503);
  hangUp.abort();
  assert.equal((await scene.reply('after=0')).status, 200);
  await Promise.all(waiting);
  assert.equal(scene.clock.pendingTimers, 0);
});

test('a drain answers the waiting requests and says so; later reads do not wait', async () => {
  const scene = new Scene();
  const answer = scene.ask('after=0&wait=30');
  await nextTurn();
  scene.service.endWaits();
  assert.deepEqual(await answer, {
    events: [],
    next: 0,
    head: 0,
    before: null,
    truncated: false,
    draining: true,
  });
  scene.events.append(sleepLogin());
  const late = await scene.ask('after=0&wait=30');
  assert.deepEqual([late.events.length, late.draining], [1, true]);
  assert.equal((await scene.ask('after=1&wait=30')).draining, true);
  assert.equal(scene.clock.pendingTimers, 0);
});

test('a cursor that is too old, or beyond the log, continues with the events kept and says so', async () => {
  const scene = new Scene();
  scene.events.append(sleepLogin(), sleepLogin(), sleepLogin());
  scene.events.forget(2);
  const old = await scene.ask('after=0');
  assert.deepEqual([old.truncated, old.events.map(({ seq }) => seq)], [true, [3]]);
  const edge = await scene.ask('after=2');
  assert.deepEqual([edge.truncated, edge.events.length], [false, 1]);
  const beyond = await scene.ask('after=99');
  assert.deepEqual([beyond.truncated, beyond.next], [true, 3]);
  const oldest = await scene.ask('');
  assert.deepEqual([oldest.truncated, oldest.events.length], [false, 1]);
});

test('a moment or an event older than the log begins at the oldest event and says so', async () => {
  const scene = new Scene();
  scene.events.append(sleepLogin({ atMs: 1000 }), sleepLogin({ atMs: 2000 }), sleepLogin({ atMs: 3000 }));
  const [first] = scene.events.read(0, 1);
  assert.equal((await scene.ask('since=0')).truncated, false, 'nothing was forgotten yet');
  scene.events.forget(2);
  for (const since of ['1500', String(first?.id)]) {
    const { truncated, events } = await scene.ask(`since=${since}`);
    assert.deepEqual([truncated, events.map(({ seq }) => seq)], [true, [3]], since);
  }
  assert.equal((await scene.ask('since=3001')).truncated, false);
});

test('events deleted while they are read are reported as missing', async () => {
  const scene = new Scene();
  scene.events.append(...Array.from({ length: 600 }, () => sleepLogin()));
  const answer = scene.ask('after=0&limit=1000');
  scene.events.forget(300);
  const { truncated, events } = await answer;
  assert.deepEqual([truncated, events.length], [true, 256 + 300]);
});

test('a wait keeps its starting place', async () => {
  const scene = new Scene();
  scene.events.append(sleepLogin());
  const answer = scene.ask('last=0&wait=30');
  await nextTurn();
  scene.events.append(sleepLogin({ deviceId: 'NEW' as DeviceId }));
  assert.deepEqual(
    (await answer).events.map(({ device_id }) => device_id),
    ['NEW'],
  );
});

test('a failed read of the log frees its slot', async () => {
  const scene = new Scene();
  scene.events.append(sleepLogin());
  scene.events.failure = new Error('planted');
  for (let i = 0; i <= operatorsReadingMax; i++) await assert.rejects(scene.reply('after=0'), /planted/);
});
