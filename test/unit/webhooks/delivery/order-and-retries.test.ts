import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { bad, good, hookUrl, WebhookScene, type SceneOptions } from '../../../support/webhook-scene.ts';

const seconds = 1000;
const minutes = 60 * seconds;
const hours = 60 * minutes;
const ladder = [5 * seconds, 30 * seconds, 2 * minutes, 10 * minutes, 30 * minutes, 2 * hours, 6 * hours];

/** A scene without a circuit breaker, for tests of single events. */
function sceneOf(options: SceneOptions = {}): WebhookScene {
  return new WebhookScene({ ...options, limits: { circuitFailures: Infinity, ...options.limits } });
}

test('an event is retried after 5 s, 30 s, 2 min, 10 min, 30 min, 2 h and 6 h, and then parked', async () => {
  const scene = sceneOf();
  scene.sender.automatic = () => bad;
  await scene.happen('a');
  for (const [rung, delayMs] of ladder.entries()) {
    await scene.pass(delayMs - 1);
    assert.equal(scene.attempted.length, rung + 1, `not before ${delayMs} ms`);
    await scene.pass(1);
    assert.equal(scene.attempted.length, rung + 2, `after ${delayMs} ms`);
  }
  assert.deepEqual(new Set(scene.sender.sent.map(({ message }) => message.id)), new Set(['event-1']));
  await scene.pass(48 * hours);
  assert.equal(scene.attempted.length, 8);
  assert.equal(scene.telemetry.count('webhook failed'), 7);
  assert.equal(scene.telemetry.count('webhook parked'), 1);
  const shown = scene.service.show({ url: hookUrl, appId: null }, 0, 10);
  assert.ok(shown.ok);
  assert.deepEqual(
    shown.value.parked.map(({ event_id: id, last_failure: failure }) => [id, failure.status]),
    [['event-1', 500]],
  );
});

/** A clock that advances with every read, like that of a running process. */
class RunningClock extends DrivenClock {
  static readonly stepMs = 0.125;
  #runMs = 0;

  override monotonicMs(): number {
    this.#runMs += RunningClock.stepMs;
    return super.monotonicMs() + this.#runMs;
  }
}

test('a retry that becomes due while the hook is polled is not missed', async () => {
  const aroundMs = 32 * RunningClock.stepMs;
  for (let beforeMs = aroundMs; beforeMs > 0; beforeMs -= RunningClock.stepMs) {
    const scene = sceneOf({ clock: new RunningClock() });
    await scene.happen('a', 'b');
    await scene.answer(1, bad);
    await scene.pass(5 * seconds - beforeMs);
    await scene.answer(2, good);
    await scene.pass(aroundMs);
    assert.deepEqual(scene.attempted, [1, 2, 1], `asked ${beforeMs} ms before it is due`);
  }
});

test('delays vary from 80 to 120 percent', async () => {
  for (const [drawn, delayMs] of [
    [0, 4000],
    [1, 6000],
  ] as const) {
    const scene = sceneOf({ random: () => drawn });
    scene.sender.automatic = () => bad;
    await scene.happen('a');
    await scene.pass(delayMs - 1);
    assert.equal(scene.attempted.length, 1);
    await scene.pass(1);
    assert.equal(scene.attempted.length, 2);
  }
});

test('events of one device are sequential, those of different devices concurrent', async () => {
  const scene = sceneOf();
  await scene.happen('a', 'a', 'b', 'a', 'b');
  assert.deepEqual(scene.underWay, [1, 3]);
  await scene.answer(3, good);
  assert.deepEqual(scene.underWay, [1, 5]);
  await scene.answer(1, good);
  assert.deepEqual(scene.underWay, [5, 2]);
  await scene.answer(2, good);
  assert.deepEqual(scene.underWay, [5, 4]);
});

test('an event that failed once blocks the later ones of its device, one that failed twice does not', async () => {
  const scene = sceneOf();
  await scene.happen('a', 'a', 'a');
  await scene.answer(1, bad);
  assert.deepEqual(scene.underWay, [], 'the second waits for the retry of the first');
  await scene.pass(5 * seconds);
  assert.deepEqual(scene.underWay, [1]);
  await scene.answer(1, bad);
  assert.deepEqual(scene.underWay, [2]);
  await scene.answer(2, good);
  assert.deepEqual(scene.underWay, [3]);
  await scene.pass(30 * seconds);
  assert.deepEqual(scene.underWay, [3, 1]);
});

test('a failed event stays in the delivery store, with the cursor past it, until it is delivered', async () => {
  const scene = sceneOf();
  await scene.happen('a', 'b');
  await scene.answer(1, bad);
  await scene.answer(2, good);
  await scene.pass(50);
  const [record] = scene.deliveries.hooks().values();
  assert.equal(record?.cursor, 2);
  assert.deepEqual(
    Array.from(scene.deliveries.failed(1), ({ event, attempts, dueAtMs }) => [
      event.id,
      attempts,
      dueAtMs - scene.clock.wallMs(),
    ]),
    [['event-1', 1, 5 * seconds - 50]],
  );
  await scene.pass(5 * seconds);
  await scene.answer(1, good);
  await scene.pass(50);
  assert.deepEqual([...scene.deliveries.failed(1)], []);
});

test('a retry does not read the log', async () => {
  const scene = sceneOf();
  await scene.happen('a');
  await scene.answer(1, bad);
  scene.events.forget(1);
  await scene.pass(5 * seconds);
  assert.deepEqual(scene.underWay, [1]);
});

test('the cursor stays before the first undelivered event, and delivery resumes there after a crash', async () => {
  const scene = sceneOf();
  await scene.happen('a', 'b', 'c');
  await scene.answer(1, good);
  await scene.answer(3, good);
  await scene.pass(50);
  const after = scene.crash();
  assert.deepEqual(after.attempted, [2, 3]);
  const first = scene.sender.sent.find(({ sequence }) => sequence === 3);
  assert.equal(after.sender.sent[1]?.message.id, first?.message.id, 'under the same id');
});

test('a failed or parked event after the cursor is not read again after a crash', async () => {
  const scene = sceneOf({ limits: { retryDelaysMs: [5 * seconds] } });
  await scene.happen('hangs', 'fails', 'parks');
  await scene.answer(3, bad);
  await scene.pass(5 * seconds);
  await scene.answer(3, bad);
  await scene.answer(2, bad);
  await scene.pass(50);
  assert.deepEqual(
    [scene.hook().record().cursor, scene.hook().record().parked, scene.hook().failed],
    [0, 1, 1],
  );
  const after = scene.crash({ limits: { retryDelaysMs: [5 * seconds] } });
  assert.deepEqual(after.underWay, [1]);
  await after.answer(1, good);
  await after.pass(5 * seconds);
  assert.deepEqual(after.underWay, [2]);
  assert.equal(after.hook().record().cursor, 3);
});

test('an orderly stop repeats no delivered event, also after a hanging one', async () => {
  const scene = sceneOf();
  await scene.happen('hangs', 'a', 'b', 'hangs');
  await scene.answer(2, good);
  await scene.answer(3, good);
  const stopped = scene.engine.stop();
  await scene.pass(5 * seconds);
  await stopped;
  const after = scene.crash();
  assert.deepEqual(after.underWay, [1]);
  await after.answer(1, good);
  assert.deepEqual(after.attempted, [1, 4]);
});

test('a device with failing events does not block the cursor for long', async () => {
  const scene = sceneOf({ limits: { spanEventsMax: 20, windowEventsMax: 100 } });
  scene.sender.automatic = ({ deviceId }) => (deviceId === 'poison' ? bad : good);
  await scene.happen('poison', 'poison');
  for (let i = 0; i < 40; i++) await scene.happen(`device-${i}`);
  const { cursor } = scene.hook().record();
  assert.ok(cursor > 20, `the cursor is at ${cursor} of 42`);
});

test('after a restart a failed event waits for the rest of its delay, and at most for the delay', async () => {
  for (const [stepMs, leftMs] of [
    [0, 3 * seconds],
    [-24 * hours, 6 * seconds],
    [24 * hours, 0],
  ] as const) {
    const scene = sceneOf();
    await scene.happen('a', 'a');
    await scene.answer(1, bad);
    await scene.pass(2 * seconds);
    scene.clock.stepWall(stepMs);
    const after = scene.crash();
    await after.pass(leftMs - 1);
    assert.deepEqual(after.attempted, leftMs === 0 ? [1] : [], `${stepMs}`);
    await after.pass(1);
    assert.deepEqual(after.attempted, [1], 'and it still holds up the later one of its device');
    await after.answer(1, good);
    assert.deepEqual(after.underWay, [2]);
  }
});

test('after a restart an event that failed twice blocks no other', async () => {
  const scene = sceneOf();
  await scene.happen('a', 'a');
  await scene.answer(1, bad);
  await scene.pass(5 * seconds);
  await scene.answer(1, bad);
  await scene.pass(50);
  const after = scene.crash();
  assert.deepEqual(after.underWay, [2]);
  await after.pass(30 * seconds);
  assert.deepEqual(after.underWay, [2, 1]);
});

test('a device with many failing events does not block the others', async () => {
  const scene = sceneOf({ limits: { windowEventsMax: 10, circuitFailures: 5 } });
  scene.sender.automatic = ({ deviceId }) => (deviceId === 'poison' ? bad : good);
  await scene.happen('poison');
  for (let i = 0; i < 30; i++) await scene.happen('poison', `device-${i}`);
  const delivered = scene.sender.sent.filter(({ deviceId }) => deviceId !== 'poison');
  assert.equal(delivered.length, 30);
  assert.equal(scene.hook().isCircuitOpen, false);
  await scene.pass(50);
  assert.ok(scene.hook().record().cursor > 30, 'the cursor is not held up either');
  const after = scene.crash();
  after.sender.automatic = () => good;
  await after.pass(6 * seconds);
  const poison = after.sender.sent.filter(({ deviceId }) => deviceId === 'poison');
  assert.deepEqual(
    poison.map(({ sequence }) => sequence),
    [1, 2, ...Array.from({ length: 29 }, (_, i) => 4 + 2 * i)],
    'each of them once, in order, also over a restart',
  );
});

test('at the limit of failed events no more are read from the log', async () => {
  const scene = sceneOf({ limits: { failedPerHookMax: 3, windowEventsMax: 10 } });
  scene.sender.automatic = () => bad;
  await scene.happen('a', 'b', 'c', 'd', 'e');
  assert.deepEqual(scene.attempted, [1, 2, 3]);
  assert.equal(scene.hook().failed, 3);
  scene.sender.automatic = () => good;
  await scene.pass(5 * seconds);
  assert.deepEqual(scene.attempted, [1, 2, 3, 1, 2, 3, 4, 5]);
});

test('retries get half of the attempts while there are new events', async () => {
  const scene = sceneOf({ limits: { attemptsPerHookMax: 4 } });
  scene.sender.automatic = () => bad;
  await scene.happen('a', 'b', 'c', 'd', 'e', 'f');
  scene.sender.automatic = null;
  await scene.happen('1', '2', '3', '4', '5', '6');
  assert.deepEqual(scene.underWay, [7, 8, 9, 10]);
  await scene.pass(5 * seconds);
  for (const sequence of [7, 8, 9, 10]) await scene.answer(sequence, good);
  assert.deepEqual(scene.underWay, [1, 2, 11, 12]);
  await scene.answer(11, good);
  await scene.answer(12, good);
  assert.deepEqual(scene.underWay, [1, 2, 3, 4]);
});

test('an event without its copy in the delivery store counts as lost and blocks no other', async () => {
  const scene = sceneOf();
  await scene.happen('a', 'a');
  await scene.answer(1, bad);
  await scene.pass(50);
  const [hook] = scene.deliveries.hooks();
  assert.ok(hook !== undefined);
  const [id, record] = hook;
  const failed = new Map([[1, null]]);
  await scene.deliveries.commit([{ id, number: 1, record, failed, parked: new Map(), parkedTrimmed: 0 }]);
  await scene.pass(5 * seconds);
  assert.deepEqual(scene.underWay, [2]);
  assert.equal(scene.telemetry.count('webhook lost'), 1);
  assert.equal(scene.hook().failed, 0);
});
