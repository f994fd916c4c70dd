import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EventId } from '../../../../src/model/ids.ts';
import type { WebhookFigures } from '../../../../src/telemetry/gauges.ts';
import type { WebhookJson } from '../../../../src/webhooks/delivery/webhook-admin.ts';
import { formatTimestamp } from '../../../../src/protocol/rest/shared-fields.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { MemoryDeliveryStore } from '../../../support/memory-delivery-store.ts';
import {
  bad,
  good,
  gone,
  hookUrl,
  loggedEvent,
  webhook,
  WebhookScene,
} from '../../../support/webhook-scene.ts';

const name = { url: hookUrl, appId: null };
const many = (count: number): string[] => Array.from({ length: count }, (_, i) => `device-${i}`);

/** A scene in which every failed event is parked at once. */
function parkingScene(parkedPerHookMax = 100): WebhookScene {
  const limits = { retryDelaysMs: [], circuitFailures: Infinity, parkedPerHookMax };
  const scene = new WebhookScene({ limits });
  scene.sender.automatic = () => bad;
  return scene;
}

/** Sequences of the listed parked events, and the state of their hook. */
function parkedOf(
  scene: WebhookScene,
  after = 0,
  limit = 100,
): { sequences: number[]; webhook: WebhookJson } {
  const shown = scene.service.show(name, after, limit);
  assert.ok(shown.ok);
  const { parked, webhook } = shown.value;
  return { sequences: parked.map(({ sequence }) => sequence), webhook };
}

test('the list has the state of each webhook, and no secret', async () => {
  const scene = new WebhookScene();
  const now = formatTimestamp(scene.clock.wallMs());
  await scene.happen('a', 'b', 'c', 'd');
  await scene.answer(1, good);
  await scene.answer(2, bad);
  assert.deepEqual(scene.service.list(), [
    {
      app_id: '2818153',
      url: hookUrl,
      types: ['*'],
      state: 'on',
      behind: 2,
      failed: 1,
      parked: 0,
      last_success_at: now,
      last_failure: { at: now, status: 500, reason: 'answered 500' },
      switched_off_at: null,
    },
  ]);
  await scene.answer(3, gone);
  const [listed] = scene.service.list();
  assert.equal(listed?.state, 'off');
  assert.equal(listed.switched_off_at, now);
});

test('the state of a webhook survives a restart', async () => {
  const scene = parkingScene();
  await scene.happen('a', 'b');
  scene.sender.automatic = () => good;
  await scene.happen('c');
  await scene.pass(1000);
  assert.deepEqual(scene.crash().service.list(), scene.service.list());
  assert.equal(scene.service.list()[0]?.parked, 2);
});

test('parked events are listed in pages', async () => {
  const scene = parkingScene();
  await scene.happen(...many(5));
  await scene.pass(1000);
  assert.deepEqual(parkedOf(scene, 0, 2).sequences, [1, 2]);
  const second = scene.service.show(name, 2, 100);
  assert.ok(second.ok);
  assert.deepEqual(
    second.value.parked.map(({ sequence, device_id: device, type }) => [sequence, device, type]),
    [
      [3, 'device-2', 'device.sleep.login'],
      [4, 'device-3', 'device.sleep.login'],
      [5, 'device-4', 'device.sleep.login'],
    ],
  );
});

test('the oldest parked event is dropped beyond the limit, and the drop is logged', async () => {
  const scene = parkingScene(3);
  await scene.happen(...many(3));
  await scene.pass(1000);
  await scene.happen('x', 'y');
  await scene.pass(1000);
  const { sequences, webhook } = parkedOf(scene);
  assert.deepEqual([sequences, webhook.parked], [[3, 4, 5], 3]);
  assert.ok(scene.log.lines.some(({ message }) => /oldest parked one dropped/.test(message)));
});

test('replayed events restart their attempts, in order per device, and are no longer parked', async () => {
  const scene = parkingScene();
  await scene.happen('a', 'b', 'a');
  scene.sender.automatic = null;
  const replayed = await scene.service.replay(name, null);
  assert.deepEqual(replayed, { ok: true, value: { replayed: 3, parked: 0 } });
  await scene.quiet();
  assert.deepEqual(scene.underWay, [1, 2]);
  await scene.answer(1, good);
  assert.deepEqual(scene.underWay, [2, 3]);
  await scene.answer(2, bad);
  await scene.answer(3, good);
  await scene.pass(1000);
  const { sequences, webhook } = parkedOf(scene);
  assert.deepEqual([sequences, webhook.failed], [[2], 0]);
});

test('one event can be replayed by its id', async () => {
  const scene = parkingScene();
  await scene.happen('a', 'b', 'c');
  scene.sender.automatic = () => good;
  const replayed = await scene.service.replay(name, 'event-2' as EventId);
  assert.deepEqual(replayed, { ok: true, value: { replayed: 1, parked: 2 } });
  await scene.quiet();
  assert.deepEqual(scene.attempted, [1, 2, 3, 2]);
  const again = await scene.service.replay(name, 'event-2' as EventId);
  assert.ok(!again.ok && again.error.kind === 'unknown');
});

test('overlapping replays replay each event once', async () => {
  const scene = parkingScene();
  await scene.happen(...many(10));
  scene.sender.automatic = () => good;
  const replays = await Promise.all([scene.service.replay(name, null), scene.service.replay(name, null)]);
  assert.deepEqual(
    replays.map((replay) => replay.ok && replay.value.replayed),
    [10, 0],
  );
  await scene.quiet();
  assert.equal(scene.attempted.length, 20);
});

test('replayed events without an attempt are replayed after a crash too', async () => {
  const scene = parkingScene();
  await scene.happen('a', 'b');
  scene.sender.automatic = null;
  await scene.service.replay(name, null);
  await scene.pass(1000);
  const after = scene.crash();
  assert.deepEqual(after.underWay, [1, 2]);
});

test('a replay probes a dead endpoint at once', async () => {
  const scene = new WebhookScene({ limits: { retryDelaysMs: [], circuitFailures: 3 } });
  scene.sender.automatic = () => bad;
  await scene.happen(...many(3));
  assert.equal(scene.hook().isCircuitOpen, true);
  scene.sender.automatic = () => good;
  await scene.service.replay(name, null);
  await scene.quiet();
  assert.equal(scene.hook().isCircuitOpen, false);
  assert.equal(scene.attempted.length, 6);
});

test('events without room among the failed stay parked', async () => {
  const limits = { retryDelaysMs: [], circuitFailures: Infinity, failedPerHookMax: 4 };
  const scene = new WebhookScene({ limits });
  scene.sender.automatic = () => bad;
  await scene.happen(...many(6));
  scene.sender.automatic = null;
  assert.deepEqual(await scene.service.replay(name, null), { ok: true, value: { replayed: 4, parked: 2 } });
  assert.deepEqual(await scene.service.replay(name, null), { ok: true, value: { replayed: 0, parked: 2 } });
});

test('a store that rejects writes rejects replays', async () => {
  const deliveries = new MemoryDeliveryStore();
  const scene = new WebhookScene({ deliveries });
  deliveries.failure = new Error('the disk is full');
  await scene.happen('a');
  const refused = await scene.service.replay(name, null);
  assert.ok(!refused.ok && refused.error.kind === 'busy');
});

test('a test message is sent once, in any state of the webhook, and is not stored', async () => {
  const scene = new WebhookScene();
  await scene.happen('a');
  await scene.answer(1, gone);
  const before = scene.service.list();
  const tested = scene.service.test(name);
  await scene.quiet();
  const [sent] = scene.sender.waiting;
  const body = JSON.parse(sent?.message.body ?? '') as Record<string, unknown>;
  assert.equal(body['type'], 'webhook.test');
  assert.equal(body['id'], sent?.message.id);
  assert.deepEqual(Object.keys(body), ['id', 'type', 'at', 'device_id', 'seq', 'epoch', 'data']);
  scene.clock.advance(120);
  sent?.answer(bad);
  assert.deepEqual(await tested, {
    ok: true,
    value: { delivered: false, status: 500, reason: 'answered 500', took_ms: 120 },
  });
  assert.deepEqual(scene.service.list(), before);
});

test('concurrent tests are limited', async () => {
  const scene = new WebhookScene();
  const tests = Array.from({ length: 17 }, () => scene.service.test(name));
  const refused = await tests[16];
  assert.ok(refused !== undefined && !refused.ok && refused.error.kind === 'busy');
  for (const sent of scene.sender.waiting.slice()) sent.answer(good);
  await Promise.all(tests);
  assert.equal(scene.sender.sent.length, 16);
});

test('every request for a webhook that is not in the registry answers unknown', async () => {
  const scene = new WebhookScene({ hooks: [webhook()] });
  const unknown = { url: 'https://other.example/', appId: null };
  const answers = [
    scene.service.show(unknown, 0, 1),
    await scene.service.test(unknown),
    await scene.service.replay(unknown, null),
    scene.service.enable(unknown),
    scene.service.enable({ url: hookUrl, appId: '9999999' }),
  ];
  for (const answer of answers) assert.ok(!answer.ok && answer.error.kind === 'unknown');
});

test('a replayed event precedes the later waiting ones of its device', async () => {
  const limits = { retryDelaysMs: [5000], circuitFailures: Infinity };
  const scene = new WebhookScene({ limits });
  scene.sender.automatic = () => bad;
  await scene.happen('a');
  await scene.pass(5000);
  assert.equal(scene.service.list()[0]?.parked, 1);
  scene.sender.automatic = null;
  await scene.happen('a', 'a');
  await scene.service.replay(name, null);
  await scene.quiet();
  assert.deepEqual(scene.underWay, [2]);
  await scene.answer(2, good);
  assert.deepEqual(scene.underWay, [1]);
  await scene.answer(1, good);
  assert.deepEqual(scene.underWay, [3]);
});

/** The clock at `seconds` after the first event of the scene's log. */
function secondsAfterFirst(seconds: number): DrivenClock {
  return new DrivenClock(loggedEvent(1, 'a').atMs + seconds * 1000);
}

function backlogOf(scene: WebhookScene): WebhookFigures {
  const asked = scene.service.backlog();
  assert.ok(asked.ok);
  return asked.value;
}

test('the backlog is the sum of unread, failed and parked events, with the age of the oldest', async () => {
  const hooks = [webhook(), webhook({ url: `${hookUrl}/2` })];
  const scene = new WebhookScene({ hooks, clock: secondsAfterFirst(90) });
  const nothing = { behind: 0, failed: 0, parked: 0 };
  assert.deepEqual(backlogOf(scene), {
    hooks: { on: 2, 'open-circuit': 0, off: 0 },
    backlog: nothing,
    oldestS: 0,
  });
  await scene.happen('a', 'b');
  assert.deepEqual(backlogOf(scene).backlog, { ...nothing, behind: 4 });
  assert.equal(backlogOf(scene).oldestS, 90);
});

test('an event that waits for a retry counts as the oldest although its webhook is at the head of the log', async () => {
  const scene = new WebhookScene({ clock: secondsAfterFirst(4) });
  await scene.happen('a', 'b');
  await scene.answer(1, bad);
  await scene.answer(2, good);
  await scene.pass(1000);
  assert.deepEqual(
    [backlogOf(scene).backlog, backlogOf(scene).oldestS],
    [{ behind: 0, failed: 1, parked: 0 }, 5],
  );
});

test('a switched-off webhook is counted, but its missed events are not backlog', async () => {
  const scene = new WebhookScene();
  await scene.happen('a', 'b');
  await scene.answer(1, gone);
  const { hooks, backlog, oldestS } = backlogOf(scene);
  assert.deepEqual([hooks.off, backlog.behind, oldestS], [1, 0, 0]);
});

test('an unreadable log leaves the backlog unknown, and the thread alive', async () => {
  const scene = new WebhookScene();
  await scene.happen('a');
  scene.events.failure = new Error('broken');
  assert.equal(scene.service.backlog().ok, false);
});
