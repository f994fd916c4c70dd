import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { test } from 'node:test';
import fc from 'fast-check';
import { neverConnected, type ConnectionRecord } from '../../../../src/model/connectivity.ts';
import type { LoggedEvent } from '../../../../src/model/events.ts';
import {
  sessionEvent,
  type SessionEnd,
  type SessionLogin,
} from '../../../../src/model/state/session-event.ts';
import type { ApplicationId, DeviceId, ProductId, RequestId, SessionId } from '../../../../src/model/ids.ts';
import type { PlacedItem } from '../../../../src/core/ports/outbox.ts';
import { CallRecordStore } from '../../../../src/storage/records/call-record-store.ts';
import { ConnectionRecordStore } from '../../../../src/storage/records/connection-record-store.ts';
import { Committer } from '../../../../src/storage/journal/committer.ts';
import type { Store } from '../../../../src/storage/lmdb/open-store.ts';
import { OutboxRecords } from '../../../../src/storage/journal/outbox-records.ts';
import { OutboxStore } from '../../../../src/storage/journal/outbox-store.ts';
import { commitRetryMs } from '../../../../src/storage/lmdb/store-limits.ts';
import { StoredEvents } from '../../../../src/storage/events/stored-events.ts';
import { WakeupRecordStore } from '../../../../src/storage/records/wakeup-record-store.ts';
import { endOf, loginOf as loginAt } from '../../../support/connection-changes.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeLog } from '../../../support/fakes.ts';
import { outboxItems, outboxMember } from '../../../support/outbox-items.ts';
import { callOf } from '../../../support/stored-calls.ts';
import { temporaryStore } from '../../../support/temporary-store.ts';
import { draftOf, EventJournal, type Batch } from '../../../support/test-journal.ts';

const door = 'door' as DeviceId;
const atMs = 1_800_000_000_000;

function openNode(
  { state }: Pick<Store, 'state'>,
  batch: Batch = (...write) => state.environment.transaction(...write),
) {
  const clock = new DrivenClock();
  const outbox = new OutboxStore(state, new FakeLog());
  const transactions = { transaction: batch, refresh: () => state.environment.refresh() };
  const committer = new Committer(transactions, new OutboxRecords(outbox, outboxMember));
  const productOf = (): ProductId => 'doorbell' as ProductId;
  const journal = new EventJournal({ clock, committer, productOf, backlogMax: 1000 });
  const logged: LoggedEvent[] = [];
  journal.onCommitted((events) => logged.push(...events));
  const plain = (write: () => void): Promise<void> => batch(write, null);
  return {
    clock,
    outbox,
    journal,
    logged,
    sleep: new ConnectionRecordStore(state, 'sleep', journal),
    signal: new ConnectionRecordStore(state, 'signal', journal),
    calls: new CallRecordStore(state, journal),
    wakeups: new WakeupRecordStore(state, journal, { clock, knownMax: 100, batch: plain }),
    read: (): readonly PlacedItem[] => outbox.read(0, 1000),
  };
}

function loginOf(session: string, epoch: number): SessionLogin {
  return loginAt({ session: session as SessionId, node: 'north', atMs, epoch });
}

function offlineOf(session: string, epoch: number): SessionEnd {
  return endOf({ session: session as SessionId, node: 'north', atMs, epoch, reason: 'reset' });
}

const loggedIn = (session: string, epoch: number): ConnectionRecord => ({
  ...neverConnected,
  epoch,
  lastLoginAt: 1_800_000_000,
  openSession: session as SessionId,
});

test('a login is committed and put into the outbox, and the log stays empty', async (t) => {
  const store = temporaryStore(t);
  const { sleep, read, logged } = openNode(store);
  const login = loginOf('session-1', 1);
  const event = sessionEvent(door, login);
  sleep.write(door, loggedIn('session-1', 1), login);
  await sleep.allCommitted();
  const [placed, ...more] = read();
  assert.deepEqual(more, []);
  assert.ok(placed?.item.kind === 'login');
  const { id, ...rest } = placed.item.event;
  assert.deepEqual(placed, {
    place: 1,
    item: {
      kind: 'login',
      connection: 'sleep',
      deviceId: door,
      session: 'session-1',
      member: outboxMember,
      node: 'north',
      heartbeatAt: 0,
      event: { id, draft: event, productId: 'doorbell' },
    },
  });
  assert.deepEqual(rest, { draft: event, productId: 'doorbell' });
  assert.equal(sleep.read(door)?.openSession, 'session-1');
  assert.equal(new StoredEvents(store.state).head, 0);
  assert.deepEqual(logged, []);
});

test('a session end reports heartbeats of its own session only', async (t) => {
  const { sleep, read } = openNode(temporaryStore(t));
  const record = { ...loggedIn('session-1', 1), openSession: null };
  sleep.write(door, { ...record, lastHeartbeatAt: 1_800_000_030 }, offlineOf('session-1', 1));
  sleep.write(door, { ...record, lastHeartbeatAt: 1_799_999_999 }, offlineOf('session-2', 2));
  await sleep.allCommitted();
  assert.deepEqual(
    read().map(({ item }) => item.kind === 'ended' && [item.session, item.heartbeatAt]),
    [
      ['session-1', 1_800_000_030],
      ['session-2', 0],
    ],
  );
});

test('saved heartbeats put nothing into the outbox', async (t) => {
  const { sleep, read, outbox } = openNode(temporaryStore(t));
  let notified = 0;
  outbox.follow(() => (notified += 1));
  sleep.write(door, { ...loggedIn('session-1', 1), lastHeartbeatAt: 1_800_000_030 }, null);
  await sleep.allCommitted();
  assert.equal(sleep.read(door)?.lastHeartbeatAt, 1_800_000_030);
  assert.deepEqual(read(), []);
  assert.equal(notified, 0);
});

test('the outbox has wakeups, calls and sessions in the order in which they happened', async (t) => {
  const { journal, wakeups, calls, signal, read, outbox } = openNode(temporaryStore(t));
  const [, , , wakeup] = outboxItems();
  assert.ok(wakeup?.kind === 'wakeup');
  const record = { ...wakeup.record, deviceId: door };
  let notified = 0;
  outbox.follow(() => (notified += 1));
  wakeups.save('app' as ApplicationId, 'ring-1' as RequestId, record, draftOf(door));
  calls.write(door, [callOf(door)], null);
  journal.append(draftOf(door, 2));
  signal.write(door, loggedIn('session-3', 1), { ...loginOf('session-3', 1), connection: 'signal' });
  wakeups.save('app' as ApplicationId, 'ring-1' as RequestId, { ...record, cause: 'event' }, null);
  await journal.allCommitted();
  const items = read().map(({ item }) => item);
  assert.deepEqual(
    items.map(({ kind, event }) => [kind, event?.draft.type ?? null]),
    [
      ['wakeup', 'device.wakeup.expired'],
      ['calls', null],
      ['calls', 'device.wakeup.expired'],
      ['login', 'device.signal.online'],
      ['wakeup', null],
    ],
  );
  assert.ok(items.every(({ deviceId }) => deviceId === door));
  const ids = items.flatMap(({ event }) => event?.id ?? []);
  assert.deepEqual(ids.toSorted(), ids);
  assert.equal(new Set(ids).size, 3);
  assert.ok(notified >= 1);
});

test('a batch that is visible although its commit was refused is published, and not put again', async (t) => {
  const store = temporaryStore(t);
  let put = 0;
  const node = openNode(store, async (write) => {
    await store.state.environment.transaction(write);
    if (put++ === 0) throw new Error('the disk is full');
  });
  let notified = 0;
  node.outbox.follow(() => (notified += 1));
  node.sleep.write(door, loggedIn('session-1', 1), loginOf('session-1', 1));
  node.sleep.write(door, loggedIn('session-2', 2), loginOf('session-2', 2));
  await node.sleep.allCommitted();
  assert.equal(notified, 1);
  await setImmediate();
  node.clock.advance(commitRetryMs);
  node.sleep.write(door, loggedIn('session-3', 3), loginOf('session-3', 3));
  await node.sleep.allCommitted();
  assert.equal(put, 2);
  assert.deepEqual(
    node.read().map(({ place }) => place),
    [1, 2, 3],
  );
});

test('two nodes generate different ids in one millisecond and at one place', async (t) => {
  const [north, south] = [openNode(temporaryStore(t)), openNode(temporaryStore(t))];
  for (const { journal } of [north, south]) {
    for (let number = 0; number < 100; number++) journal.append(draftOf(door, number));
    await journal.allCommitted();
  }
  const ids = [...north.read(), ...south.read()].map(({ item }) => item.event?.id);
  assert.equal(new Set(ids).size, 200);
});

/** Outcome of each requested commit; at the end of the list, the process dies. */
const commits = fc.array(
  fc.boolean().map((refused) => !refused),
  { maxLength: 12 },
);
const turns = fc.array(fc.integer({ min: 0, max: 6 }), { maxLength: 10 });

test('after a crash at any commit, records and outbox have the same prefix of the changes', async (t) => {
  await fc.assert(
    fc.asyncProperty(turns, commits, async (turns, goesThrough) => {
      const store = temporaryStore(t);
      let [asked, happened] = [0, 0];
      let underWay = Promise.resolve();
      const tried = new Set<string>();
      const node = openNode(store, (write) => {
        const outcome = goesThrough[asked++];
        if (outcome === undefined) return new Promise(() => undefined);
        if (!outcome) return Promise.reject(new Error('the disk is full'));
        return (underWay = store.state.environment.transaction(write));
      });
      for (const count of turns) {
        for (let i = 0; i < count; i++) {
          happened += 1;
          node.sleep.write(
            door,
            loggedIn(`session-${happened}`, happened),
            loginOf(`session-${happened}`, happened),
          );
        }
        await setImmediate();
        await underWay;
        node.clock.advance(commitRetryMs);
      }
      await underWay;
      await setImmediate();
      const next = openNode(store);
      const left = next.read();
      const epoch = next.sleep.read(door)?.epoch ?? 0;
      assert.equal(left.length, epoch);
      for (const [at, { place, item }] of left.entries()) {
        assert.ok(item.kind === 'login');
        assert.deepEqual([place, item.session], [at + 1, `session-${at + 1}`]);
        assert.ok(!tried.has(item.event.id));
        tried.add(item.event.id);
      }
      assert.equal(next.outbox.lastPlace, left.length);
    }),
    { numRuns: 60 },
  );
});
