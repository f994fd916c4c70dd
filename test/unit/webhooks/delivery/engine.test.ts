import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApplicationId } from '../../../../src/model/ids.ts';
import { otherApp, testApp } from '../../../support/fakes.ts';
import { bad, gone, good, hookUrl, webhook, WebhookScene } from '../../../support/webhook-scene.ts';

const many = (count: number, name = 'device'): string[] =>
  Array.from({ length: count }, (_, i) => `${name}-${i}`);

test('an event is sent in the same turn in which its commit is reported', () => {
  const scene = new WebhookScene();
  const event = scene.events.append('a');
  scene.engine.advance(1);
  const [sent] = scene.sender.sent;
  assert.equal(sent?.message.id, event.id);
  assert.deepEqual(JSON.parse(sent.message.body), {
    id: 'event-1',
    type: 'device.sleep.login',
    at: '2027-01-15T08:00:00.001+00:00',
    device_id: 'a',
    seq: 1,
    epoch: 1,
    data: { session: 'session-1', node: 'node', replaced: false },
  });
});

test('a hook receives only events of its application and its types', async () => {
  const scene = new WebhookScene({
    hooks: [
      webhook({ url: 'https://a.example/' }),
      webhook({ url: 'https://b.example/', types: ['device.signal.online'] }),
      webhook({ url: 'https://c.example/', appId: otherApp, types: ['device.sleep.login', 'call.ended'] }),
    ],
  });
  scene.registry.products.set('foreign', [otherApp]);
  scene.registry.products.set('shared', [testApp, otherApp]);
  for (const product of ['doorbell', 'foreign', 'shared', 'unknown']) scene.events.append('a', product);
  scene.sender.automatic = () => good;
  scene.engine.advance(4);
  await scene.quiet();
  const sent = scene.sender.sent.map(({ url, sequence }) => `${url} ${sequence}`);
  assert.deepEqual(sent.toSorted(), [
    'https://a.example/ 1',
    'https://a.example/ 3',
    'https://c.example/ 2',
    'https://c.example/ 3',
  ]);
});

test('a hook without events for its application keeps up with the log, and misses none later', async () => {
  const other = webhook({ appId: otherApp, url: 'https://other.example/' });
  const scene = new WebhookScene({ hooks: [webhook(), other] });
  scene.registry.products.set('foreign', [otherApp]);
  await scene.happen('a', 'b', 'c');
  assert.equal(scene.hook(other.url).record().cursor, 3);
  scene.events.append('a', 'foreign');
  await scene.happen('d');
  const sent = scene.sender.sent.filter(({ url }) => url === other.url);
  assert.deepEqual(
    sent.map(({ sequence }) => sequence),
    [4],
  );
  assert.equal(scene.hook(other.url).record().cursor, 3);
  await scene.answer(4, good);
  await scene.pass(1000);
  assert.equal(scene.deliveries.hooks().get(`${otherApp}\n${other.url}`)?.cursor, 5);
});

test('a new hook starts at the head of the log', async () => {
  const scene = new WebhookScene({ hooks: [] });
  await scene.happen('a', 'b');
  scene.registry.hooks.push(webhook());
  scene.engine.registryChanged();
  await scene.happen('c');
  assert.deepEqual(scene.attempted, [3]);
});

test('a removed hook loses its queue, and returns as a new one', async () => {
  const scene = new WebhookScene();
  await scene.happen('a', 'b', 'c');
  await scene.answer(1, bad);
  scene.registry.hooks.length = 0;
  scene.engine.registryChanged();
  await scene.answer(2, good);
  await scene.happen('d');
  await scene.pass(60_000);
  assert.deepEqual(scene.attempted, [1, 2, 3]);
  assert.equal(scene.deliveries.hooks().size, 0);
  scene.registry.hooks.push(webhook());
  scene.engine.registryChanged();
  await scene.happen('e');
  await scene.pass(60_000);
  assert.deepEqual(scene.attempted, [1, 2, 3, 5]);
  assert.deepEqual([...scene.deliveries.failed(1)], [], 'nothing is left of the old one');
});

test('an unreadable registry changes nothing', async () => {
  const scene = new WebhookScene();
  scene.registry.failure = new Error('no disk');
  scene.engine.registryChanged();
  await scene.happen('a');
  assert.deepEqual(scene.underWay, [1]);
  assert.equal(scene.log.lines.at(-1)?.level, 'error');
});

test('an unreadable log is read again with the next event', async () => {
  const scene = new WebhookScene();
  scene.events.failure = new Error('no disk');
  await scene.happen('a');
  scene.events.failure = null;
  await scene.happen('b');
  assert.deepEqual(scene.underWay, [1, 2]);
});

test('a hook never exceeds its limits of concurrent attempts and of events read ahead', async () => {
  const scene = new WebhookScene({ limits: { attemptsPerHookMax: 3, windowEventsMax: 8 } });
  await scene.happen(...many(100));
  assert.deepEqual(scene.underWay, [1, 2, 3]);
  await scene.answer(2, good);
  assert.deepEqual(scene.underWay, [1, 3, 4]);
  assert.ok(scene.hook().record().cursor === 0 && scene.events.reads < 4, 'the window is read in one go');
  scene.sender.automatic = () => good;
  await scene.answer(3, good);
  assert.equal(scene.attempted.length, 100, 'an event that hangs holds up no other');
  await scene.answer(4, good);
  assert.equal(scene.hook().record().cursor, 0);
  await scene.answer(1, good);
  assert.equal(scene.hook().record().cursor, 100);
});

test('hooks take turns, and a hanging one leaves slots for the others', async () => {
  const slow = 'https://slow.example/';
  const scene = new WebhookScene({
    hooks: [webhook({ url: slow }), webhook()],
    limits: { attemptsMax: 12, attemptsPerHookMax: 10 },
  });
  await scene.happen(...many(40));
  const count = (url: string): number => scene.sender.waiting.filter((sent) => sent.url === url).length;
  assert.equal(count(slow), 4, 'it may hold no more than are free');
  assert.equal(count(hookUrl), 4);
  scene.sender.automatic = ({ url }) => (url === slow ? null : good);
  for (const sent of scene.sender.waiting.filter(({ url }) => url === hookUrl)) sent.answer(good);
  await scene.quiet();
  assert.equal(scene.sender.sent.filter(({ url }) => url === hookUrl).length, 40);
  assert.ok(count(slow) <= 6);
});

test('a hook without a slot gets the next free one', async () => {
  const busy = 'https://busy.example/';
  const scene = new WebhookScene({ hooks: [webhook({ url: busy }), webhook()], limits: { attemptsMax: 3 } });
  await scene.happen(...many(6));
  const count = (): number => scene.sender.waiting.filter(({ url }) => url === hookUrl).length;
  assert.equal(count(), 1);
  scene.sender.automatic = ({ url }) => (url === busy ? good : null);
  scene.sender.waiting.find(({ url }) => url === busy)?.answer(good);
  await scene.quiet();
  assert.equal(count(), 2, 'while its first attempt hangs');
});

test('a commit that this thread does not see yet is not lost, but read with the next', async () => {
  const scene = new WebhookScene({
    hooks: [webhook(), webhook({ appId: otherApp, url: 'https://o.example/' })],
  });
  scene.registry.products.set('doorbell', [testApp, otherApp]);
  scene.engine.advance(1);
  await scene.quiet();
  await scene.happen('a', 'b');
  assert.deepEqual(scene.attempted, [1, 1, 2, 2]);
  assert.equal(scene.telemetry.count('webhook lost'), 0);
});

test('410 switches a hook off, durably, until it is enabled', async () => {
  const scene = new WebhookScene();
  await scene.happen('a');
  await scene.answer(1, gone);
  await scene.happen('b');
  await scene.pass(3600_000);
  assert.deepEqual(scene.attempted, [1]);
  assert.equal(scene.telemetry.count('webhook gone'), 1);
  const after = scene.crash();
  await after.happen('c');
  assert.deepEqual(after.attempted, []);
  assert.equal(after.service.list()[0]?.state, 'off');
  assert.ok(after.service.enable({ url: hookUrl, appId: null }).ok);
  await after.quiet();
  assert.deepEqual(
    after.attempted.toSorted((a, b) => a - b),
    [1, 2, 3],
    'nothing of it is lost',
  );
  await after.pass(1000);
  assert.equal(after.crash().service.list()[0]?.state, 'on');
});

test('only a new secret switches a hook on again', async () => {
  const scene = new WebhookScene();
  await scene.happen('a');
  await scene.answer(1, gone);
  scene.registry.hooks.splice(0, 1, webhook({ types: ['device.sleep.login'] }));
  scene.engine.registryChanged();
  assert.equal(scene.service.list()[0]?.state, 'off');
  scene.registry.hooks.splice(0, 1, webhook({ secret: 'whsec_bmV3' }));
  scene.engine.registryChanged();
  assert.equal(scene.service.list()[0]?.state, 'on');
  await scene.happen('b');
  assert.ok(scene.underWay.includes(2));
});

test('events that the log dropped before they were read are counted and logged', async () => {
  const scene = new WebhookScene({ limits: { windowEventsMax: 4 } });
  await scene.happen(...many(4));
  for (const device of many(16)) scene.events.append(device);
  scene.events.forget(10);
  scene.engine.advance(20);
  for (const sequence of [1, 2, 3, 4]) await scene.answer(sequence, good);
  assert.deepEqual(scene.underWay, [11, 12, 13, 14]);
  assert.equal(scene.telemetry.count('webhook lost'), 6);
  assert.ok(
    scene.log.lines.some(({ message, fields }) => /expired from the log/.test(message) && 'events' in fields),
  );
});

test('a log younger than the delivery store is read from its head', async () => {
  const scene = new WebhookScene();
  await scene.happen('a', 'b', 'c');
  for (const sequence of [1, 2, 3]) await scene.answer(sequence, good);
  await scene.pass(1000);
  const after = scene.crash();
  const fresh = new WebhookScene({ deliveries: after.deliveries });
  await fresh.happen('a');
  assert.deepEqual(fresh.attempted, [1]);
});

test('two applications with the same URL have two hooks', async () => {
  const app = 'second' as ApplicationId;
  const scene = new WebhookScene({ hooks: [webhook(), webhook({ appId: app })] });
  scene.registry.products.set('doorbell', [testApp, app]);
  await scene.happen('a');
  assert.deepEqual(scene.underWay, [1, 1]);
  const refused = scene.service.enable({ url: hookUrl, appId: null });
  assert.ok(!refused.ok && refused.error.kind === 'ambiguous');
  assert.ok(scene.service.enable({ url: hookUrl, appId: app }).ok);
});

test('a stop starts no attempts, waits a limited time for pending ones, and stores the abandoned ones', async () => {
  const scene = new WebhookScene({ limits: { attemptsPerHookMax: 2 } });
  await scene.happen(...many(4));
  const stopped = scene.engine.stop();
  await scene.answer(1, good);
  assert.deepEqual(scene.underWay, [2], 'no other event has taken its place');
  await scene.pass(5000);
  await stopped;
  assert.equal(scene.sender.isClosed, true);
  assert.equal(scene.clock.pendingTimers, 0);
  const after = scene.crash();
  assert.deepEqual(after.attempted, [2, 3, 4]);
});

test('a sequence without an event is skipped, and nothing counts as lost', async () => {
  const scene = new WebhookScene();
  const read = scene.events.read.bind(scene.events);
  scene.events.read = (...args) => read(...args).filter(({ sequence }) => sequence !== 2);
  await scene.happen('a', 'b', 'c');
  assert.deepEqual(scene.attempted, [1, 3]);
  assert.equal(scene.telemetry.count('webhook lost'), 0);
});
