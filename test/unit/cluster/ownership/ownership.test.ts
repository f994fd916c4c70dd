import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deviceHash } from '../../../../src/cluster/nats/nats-names.ts';
import { changeRetryMsMax, outboxUnderWayMax } from '../../../../src/cluster/records/row-limits.ts';
import type { DeviceId, EventId, SessionId } from '../../../../src/model/ids.ts';
import type { OutboxItem } from '../../../../src/core/ports/outbox.ts';
import { device, FakeOutbox, OwnershipScene, type OwningNode } from '../../../support/ownership-scene.ts';

const minuteMs = 60_000;
const otherDevice = 'TESTDEVICE02' as DeviceId;

async function twoNodes() {
  const scene = new OwnershipScene();
  const [a, b] = [scene.start('A'), scene.start('B')];
  await scene.untilIdle();
  return { scene, a, b };
}

test('what is shared is forgotten, and the outbox is empty', async () => {
  const { scene, a } = await twoNodes();
  a.login(device, 'signal', 's1');
  a.end(device, 'signal');
  await scene.pass(100);
  assert.equal(a.outbox.length, 0);
  assert.equal(a.outbox.forgets, 1);
});

test('an end that came in the second in which its node was called lost is not told again by its next life', async () => {
  const { scene, a, b } = await twoNodes();
  a.login(device, 'signal', 's1');
  await scene.untilIdle();
  scene.cut(a);
  a.end(device, 'signal');
  await b.ownership.failOver(a.member);
  scene.restart(a);
  await scene.pass(1000);
  assert.deepEqual(scene.log.words.slice(1), ['device.signal.offline 1 A node_lost']);
});

test('an end that came in that second is not told again where others have slept elsewhere and gone meanwhile', async () => {
  const { scene, a, b } = await twoNodes();
  a.login(device, 'sleep', 's1');
  await scene.untilIdle();
  b.login(device, 'sleep', 's2');
  await scene.untilIdle();
  b.end(device, 'sleep');
  await scene.untilIdle();
  scene.cut(a);
  a.end(device, 'sleep');
  await b.ownership.failOver(a.member);
  scene.restart(a);
  await scene.pass(1000);
  assert.deepEqual(scene.log.words.slice(2), [
    'device.sleep.offline 2 B reset',
    'device.sleep.offline 1 A node_lost',
  ]);
});

test('the end of a session that was called lost and claimed again is told, also by the next life of its node', async () => {
  const { scene, a, b } = await twoNodes();
  a.login(device, 'signal', 's1');
  await scene.untilIdle();
  await b.ownership.failOver(a.member);
  await scene.untilIdle();
  assert.deepEqual(scene.slots(device, 'signal'), ['s1'], 'it has its slot again');
  scene.way(a).publishes = false;
  a.end(device, 'signal');
  await scene.untilIdle();
  assert.deepEqual(scene.slots(device, 'signal'), [], 'the crash comes before the event');
  scene.restart(a);
  await scene.pass(1000);
  assert.equal(scene.log.words.at(-1), 'device.signal.offline 2 A reset');
});

test('a live session that was called lost is claimed again, with a new epoch', async () => {
  const { scene, a, b } = await twoNodes();
  a.login(device, 'signal', 's1');
  await scene.untilIdle();
  scene.cut(a);
  await scene.pass(minuteMs);
  await b.ownership.failOver(a.member);
  scene.mend(a);
  await scene.untilIdle();
  assert.deepEqual(scene.log.words.slice(1), [
    'device.signal.offline 1 A node_lost',
    'device.signal.online 2 A recovered',
  ]);
  assert.deepEqual(
    scene.log.events.map(({ seq }) => seq),
    [1, 2, 3],
  );
  assert.equal(scene.log.events.at(-1)?.productId, 'doorbell');
});

test('what a crash left between its row and its event is told after it', async () => {
  const { scene, a } = await twoNodes();
  a.login(device, 'sleep', 's0');
  await scene.pass(1000);
  // Its row is read and written; the crash comes before the event.
  scene.way(a).publishes = false;
  a.login(device, 'signal', 's1');
  a.end(device, 'sleep');
  await scene.untilIdle();
  scene.restart(a);
  await scene.pass(1000);
  assert.deepEqual(scene.log.words.toSorted(), [
    'device.signal.offline 1 A node_lost',
    'device.signal.online 1 A',
    'device.sleep.login 1 A',
    'device.sleep.offline 1 A reset',
  ]);
});

test('a session of an earlier life that was failed over does not rise again', async () => {
  const { scene, a, b } = await twoNodes();
  scene.way(a).publishes = false;
  a.login(device, 'signal', 's1');
  await scene.untilIdle();
  scene.cut(a);
  await scene.pass(minuteMs);
  await b.ownership.failOver(a.member);
  scene.restart(a);
  await scene.pass(1000);
  assert.deepEqual(scene.log.words, ['device.signal.offline 1 A node_lost']);
});

test('a row that cannot be read holds up nothing', async () => {
  const { scene, a } = await twoNodes();
  scene.rows.write(deviceHash(device), Buffer.from('not a row'));
  a.login(device, 'signal', 's1');
  a.login(otherDevice, 'signal', 's2');
  await scene.pass(100);
  assert.deepEqual(scene.slots(otherDevice, 'signal'), ['s2']);
  assert.equal(a.outbox.length, 0);
  assert.deepEqual(
    a.log.lines.map(({ level }) => level),
    ['error'],
  );
});

test('a failure is told of once, and tried again until it succeeds', async () => {
  const { scene, a } = await twoNodes();
  const { rows } = scene.way(a);
  rows.isUnavailable = true;
  a.login(device, 'signal', 's1');
  for (let tries = 0; tries < 10; tries++) await scene.pass(changeRetryMsMax);
  assert.equal(a.log.lines.filter(({ level }) => level === 'warn').length, 1);
  rows.isUnavailable = false;
  await scene.pass(changeRetryMsMax);
  assert.deepEqual(scene.slots(device, 'signal'), ['s1']);
  assert.equal(a.log.lines.at(-1)?.message, 'changes are shared again');
});

test('while NATS is away nothing is taken; when it is back all is, in the order of each device', async () => {
  const { scene, a } = await twoNodes();
  scene.cut(a);
  const readBefore = a.outbox.reads;
  a.login(device, 'signal', 's1');
  a.end(device, 'signal');
  a.login(device, 'signal', 's2');
  await scene.pass(minuteMs);
  assert.equal(a.outbox.reads, readBefore);
  scene.mend(a);
  await scene.untilIdle();
  assert.deepEqual(scene.log.words, [
    'device.signal.online 1 A',
    'device.signal.offline 1 A reset',
    'device.signal.online 2 A',
  ]);
});

test('so many devices are under way at once, and of each one thing', async () => {
  const { scene, a } = await twoNodes();
  const { rows } = scene.way(a);
  rows.withhold();
  const before = rows.reads;
  for (let index = 0; index < outboxUnderWayMax + 10; index++) {
    a.login(`D${index}` as DeviceId, 'sleep', `s${index}`);
    a.end(`D${index}` as DeviceId, 'sleep');
  }
  await scene.untilIdle();
  assert.equal(rows.reads - before, outboxUnderWayMax);
  rows.release();
  await scene.pass(100);
  assert.equal(a.outbox.length, 0);
});

test('an outbox that refuses to forget is asked again', async () => {
  const { scene, a } = await twoNodes();
  a.outbox.failures = 2;
  a.login(device, 'signal', 's1');
  for (let tries = 0; tries < 4; tries++) await scene.pass(100);
  assert.equal(a.outbox.length, 0);
  assert.deepEqual(scene.log.words, ['device.signal.online 1 A']);
});

test("a wakeup's record is kept before its event is told, with the epoch of all", async () => {
  const { scene, a, b } = await twoNodes();
  b.login(device, 'sleep', 's1');
  await scene.untilIdle();
  a.login(device, 'sleep', 's2');
  await scene.untilIdle();
  const draft = {
    type: 'device.wakeup.expired',
    data: { request_id: 'r1' },
    deviceId: device,
    atMs: 0,
    epoch: 1,
  };
  const event = { id: 'e1' as EventId, draft, productId: null };
  const item = { kind: 'wakeup', deviceId: device, appId: '1', requestId: 'r1', record: {}, event };
  a.outbox.put(item as unknown as OutboxItem);
  a.outbox.put({ ...item, kind: 'event', event: { ...event, id: 'e2' } } as unknown as OutboxItem);
  const later = { ...event, id: 'e3', draft: { ...draft, epoch: 7 } };
  a.outbox.put({ ...item, event: later } as unknown as OutboxItem);
  await scene.untilIdle();
  assert.equal(a.wakeups.length, 2);
  assert.deepEqual(scene.log.words.slice(2), [
    'device.wakeup.expired 2',
    'device.wakeup.expired 2',
    'device.wakeup.expired 7',
  ]);
});

test('an item that is nonsense is told of and dropped', async () => {
  const { scene, a } = await twoNodes();
  a.login(device, 'signal', 's1');
  const [login] = a.outbox.items.values();
  assert.ok(login?.kind === 'login');
  const draft = { ...login.event.draft, type: 'call.started' };
  a.outbox.put({ ...login, session: 's2' as SessionId, event: { ...login.event, draft } } as OutboxItem);
  await scene.pass(100);
  assert.equal(a.outbox.length, 0);
  assert.deepEqual(
    a.log.lines.map(({ level }) => level),
    ['error'],
  );
});

test('a stop waits until others have seen everything, and leaves no heartbeats behind', async () => {
  const { scene, a } = await twoNodes();
  a.login(device, 'signal', 's1');
  a.end(device, 'signal');
  const stopped = a.ownership.stop(minuteMs);
  await scene.pass(100);
  await stopped;
  assert.deepEqual(scene.log.words.at(-1), 'device.signal.offline 1 A reset');
  assert.deepEqual(Array.from(scene.heartbeats.entries.keys()).filter(isOf(a)), []);
});

test('after a stop the outbox is left alone: its store may be closed', async () => {
  const { scene, a } = await twoNodes();
  const { rows } = scene.way(a);
  rows.withhold();
  a.login(device, 'signal', 's1');
  await scene.untilIdle();
  const stopped = a.ownership.stop(1);
  await scene.pass(1);
  await stopped;
  rows.release();
  await scene.pass(minuteMs);
  assert.deepEqual(scene.log.words, ['device.signal.online 1 A']);
  assert.deepEqual([a.outbox.length, a.outbox.forgets], [1, 0]);
});

test('who is stopped before it has begun takes nothing, and writes no heartbeats', async () => {
  const scene = new OwnershipScene();
  const a = scene.start('A');
  const stopped = a.ownership.stop(1);
  await scene.pass(1);
  await stopped;
  a.login(device, 'signal', 's1');
  const { entries } = scene.heartbeats;
  const written = entries.size;
  await scene.pass(minuteMs);
  assert.deepEqual([scene.log.words, a.outbox.reads], [[], 0]);
  assert.ok(entries.size <= written + 1);
});

function isOf({ member }: OwningNode): (key: string) => boolean {
  const token = Buffer.from(member).toString('base64url');
  return (key) => key.startsWith(`${token}.`);
}

test('items of an outbox that outlived a crash are brought after the start', async () => {
  const scene = new OwnershipScene();
  const outbox = new FakeOutbox();
  const a = scene.start('A', outbox);
  scene.cut(a);
  a.login(device, 'sleep', 's1');
  scene.restart(a);
  await scene.pass(1000);
  assert.deepEqual(scene.log.words, ['device.sleep.login 1 A', 'device.sleep.offline 1 A node_lost']);
});
