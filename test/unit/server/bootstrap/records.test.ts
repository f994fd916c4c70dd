import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { neverConnected } from '../../../../src/model/connectivity.ts';
import type { EventType } from '../../../../src/model/events.ts';
import type { ApplicationId, DeviceId, ProductId, RequestId } from '../../../../src/model/ids.ts';
import { Readiness } from '../../../../src/telemetry/readiness.ts';
import { StoreHealth } from '../../../../src/server/bootstrap/store-health.ts';
import { openRecords, type RecordsDeps } from '../../../../src/server/bootstrap/records.ts';
import type { Settings } from '../../../../src/server/config/settings-schema.ts';
import { OwnRecords } from '../../../../src/storage/journal/own-records.ts';
import { loginOf } from '../../../support/connection-changes.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeLog, latestOf } from '../../../support/fakes.ts';
import { temporaryStore } from '../../../support/temporary-store.ts';
import { draftOf } from '../../../support/test-journal.ts';

const device = 'TESTDEVICE01' as DeviceId;
const settings = {
  wakeup: { known_max: 10 } as Settings['wakeup'],
  events: { retention_days: 1, retained_max: 1000 },
};

function depsOf() {
  const [log, readiness] = [new FakeLog(), new Readiness()];
  return {
    clock: new DrivenClock(),
    node: 'node-1',
    log,
    readiness,
    health: new StoreHealth({ log, readiness }),
    productOf: () => 'doorbell' as ProductId,
  };
}

function opened(t: TestContext, changes: Pick<RecordsDeps, 'onEvent'> = {}) {
  const store = temporaryStore(t);
  const deps = { ...depsOf(), ...changes };
  deps.readiness.clear('starting');
  const own = { store: new OwnRecords(store.state), isCoordinator: true };
  return { store, deps, records: openRecords(store.state, settings, { ...deps, ...own }) };
}

test('records of connections and wakeups share one log, and every event is counted', async (t) => {
  const counted: EventType[] = [];
  const { records } = opened(t, { onEvent: (type) => counted.push(type) });
  records.sleep.write(device, neverConnected, loginOf());
  records.signal.write(device, neverConnected, loginOf({ connection: 'signal' }));
  records.calls.write(device, [], draftOf(device, 3));
  assert.equal(records.loginsAreClosed(), false);
  await records.close();
  assert.deepEqual(
    records.events.read(0, 10).map(({ type, seq, productId }) => [type, seq, productId]),
    [
      ['device.sleep.login', 1, 'doorbell'],
      ['device.signal.online', 2, 'doorbell'],
      ['device.wakeup.expired', 3, 'doorbell'],
    ],
  );
  assert.equal(counted.length, 3);
});

test('an orderly stop commits changes that no request waits for', async (t) => {
  const { records } = opened(t);
  const { session } = loginOf();
  const record = { ...neverConnected, epoch: 1, openSession: session };
  records.sleep.write(device, record, loginOf());
  await records.allCommitted();
  records.sleep.write(device, { ...record, lastHeartbeatAt: 7 }, null);
  await records.close();
  assert.equal(records.sleep.committed(device), null);
  assert.equal(records.sleep.read(device)?.lastHeartbeatAt, 7);
  assert.equal(records.wakeups.find(latestOf('app' as ApplicationId, 'r' as RequestId)), null);
});

test('a store that refuses writes makes the node unready with a reason, and does not block a stop', async (t) => {
  const { store, deps, records } = opened(t);
  const { clock, log, readiness } = deps;
  await store.close();
  records.sleep.write(device, neverConnected, loginOf());
  const closing = records.close();
  while (readiness.reasons.length === 0) await new Promise(setImmediate);
  assert.deepEqual(readiness.reasons, ['store']);
  clock.advance(10_000);
  await closing;
  assert.deepEqual(
    log.lines.map(({ level }) => level),
    ['error', 'error'],
  );
});

test('events expire as configured, from the start to the stop', async (t) => {
  const { deps, records } = opened(t);
  records.calls.write(device, [], draftOf(device, 1, deps.clock.wallMs()));
  await records.sleep.allCommitted();
  deps.clock.stepWall(24 * 3600 * 1000);
  deps.clock.advance(1000);
  while (records.events.oldest === 1) await new Promise(setImmediate);
  assert.deepEqual([records.events.oldest, records.events.head], [2, 1]);
  await records.close();
  assert.equal(deps.clock.pendingTimers, 0);
});
