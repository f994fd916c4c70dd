import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryDeliveryStore } from '../../../support/memory-delivery-store.ts';
import { bad, good, hookUrl, WebhookScene } from '../../../support/webhook-scene.ts';

const seconds = 1000;
const minutes = 60 * seconds;
const inOrder = (sequences: readonly number[]): number[] => sequences.toSorted((a, b) => a - b);
const hours = 60 * minutes;
const many = (count: number): string[] => Array.from({ length: count }, (_, i) => `device-${i}`);

test('five consecutive failures open the circuit, and single events probe the endpoint', async () => {
  const scene = new WebhookScene({ limits: { attemptsPerHookMax: 1 } });
  scene.sender.automatic = () => bad;
  await scene.happen(...many(20));
  assert.deepEqual(scene.attempted, [1, 2, 3, 4, 5]);
  assert.equal(scene.service.list()[0]?.state, 'open-circuit');
  await scene.pass(5 * seconds);
  assert.deepEqual(scene.attempted, [1, 2, 3, 4, 5, 1], 'one probe, though all five are due');
  await scene.pass(30 * seconds - 1);
  assert.equal(scene.attempted.length, 6);
  await scene.pass(1);
  assert.deepEqual(scene.attempted.slice(6), [2], 'the earliest that is due');
});

test('the first delivery closes the circuit, and all deliveries continue', async () => {
  const scene = new WebhookScene();
  scene.sender.automatic = () => bad;
  await scene.happen(...many(5));
  await scene.happen('x', 'y');
  scene.sender.automatic = () => good;
  await scene.pass(5 * seconds);
  assert.deepEqual(inOrder(scene.attempted.slice(5)), [1, 2, 3, 4, 5, 6, 7]);
  assert.deepEqual(
    scene.log.lines.map(({ level, message }) => [level, message]),
    [
      ['warn', 'webhook: fails; sending one event at a time'],
      ['info', 'webhook: answers again'],
    ],
  );
  const [opened] = scene.log.lines;
  assert.deepEqual(opened?.fields, { app_id: '2818153', url: hookUrl, status: 500, reason: 'answered 500' });
});

test('non-consecutive failures do not open the circuit', async () => {
  const scene = new WebhookScene();
  for (let i = 1; i <= 20; i++) {
    await scene.happen(`device-${i}`);
    await scene.answer(i, i % 5 === 0 ? good : bad);
  }
  assert.equal(scene.hook().isCircuitOpen, false);
});

test('an attempt pending since before the circuit opened may close it', async () => {
  const scene = new WebhookScene();
  await scene.happen(...many(7));
  for (const sequence of [1, 2, 3, 4, 5]) await scene.answer(sequence, bad);
  assert.equal(scene.hook().isCircuitOpen, true);
  await scene.answer(6, bad);
  await scene.answer(7, good);
  assert.equal(scene.hook().isCircuitOpen, false);
});

test('a new event is the probe if no failed one is due', async () => {
  const scene = new WebhookScene({ limits: { retryDelaysMs: [5 * seconds, 24 * hours] } });
  scene.sender.automatic = () => bad;
  await scene.happen('a', 'b', 'c', 'd', 'e');
  await scene.pass(5 * seconds);
  for (let i = 0; i < 4; i++) await scene.pass(10 * minutes);
  assert.deepEqual(scene.attempted.slice(5), [1, 2, 3, 4, 5]);
  await scene.pass(10 * minutes);
  assert.equal(scene.attempted.length, 10, 'nothing is due and nothing is new');
  scene.sender.automatic = () => good;
  await scene.happen('f', 'g');
  assert.deepEqual(scene.attempted.slice(10), [6, 7]);
  assert.equal(scene.hook().isCircuitOpen, false);
});

test('probes are at most ten minutes apart', async () => {
  const scene = new WebhookScene();
  scene.sender.automatic = () => bad;
  await scene.happen(...many(200));
  const before = scene.attempted.length;
  for (let second = 0; second < 24 * 3600; second += 10) await scene.pass(10 * seconds);
  const probes = scene.sender.sent.slice(before).map(({ atMs }) => atMs);
  const apart = probes.slice(1).map((atMs, i) => atMs - (probes[i] ?? 0));
  assert.ok(apart.length > 100);
  assert.ok(Math.max(...apart) <= 10 * minutes + 10 * seconds);
  assert.ok(Math.min(...apart.slice(4)) >= 10 * minutes - 10 * seconds);
});

test('a dead endpoint with 100 000 waiting events stores only a cursor and a few dozen failed events', async () => {
  const deliveries = new MemoryDeliveryStore();
  const scene = new WebhookScene({ deliveries });
  scene.sender.automatic = () => bad;
  for (let i = 0; i < 100_000; i++) scene.events.append(`device-${i % 1000}`);
  scene.engine.advance(50_000);
  await scene.quiet();
  scene.engine.advance(100_000);
  for (let second = 0; second < 3600; second += 5) await scene.pass(5 * seconds);
  assert.ok(scene.hook().failed <= 64, `${scene.hook().failed} failed`);
  assert.ok(scene.hook().record().cursor < 300);
  assert.ok(scene.attempted.length < 60, `${scene.attempted.length} attempts in an hour`);
  assert.ok(deliveries.commits < 100, `${deliveries.commits} commits`);
  assert.ok(scene.events.reads < 10, 'the log is not read for it');
  assert.equal(scene.service.list()[0]?.behind, 100_000 - scene.hook().record().cursor);
});

test('a dead endpoint reads no more of the log than its window, also for one device', async () => {
  const scene = new WebhookScene();
  scene.sender.automatic = () => bad;
  for (let i = 0; i < 10_000; i++) scene.events.append('the only one');
  scene.engine.advance(10_000);
  for (let second = 0; second < 600; second += 5) await scene.pass(5 * seconds);
  assert.ok(scene.hook().failed < 10);
  assert.ok(scene.hook().record().cursor < 10);
});

test('enabling a hook probes a dead endpoint at once', async () => {
  const scene = new WebhookScene();
  scene.sender.automatic = () => bad;
  await scene.happen(...many(5));
  await scene.pass(8 * hours);
  scene.sender.automatic = () => good;
  scene.service.enable({ url: hookUrl, appId: null });
  await scene.quiet();
  assert.equal(scene.hook().isCircuitOpen, false);
});
