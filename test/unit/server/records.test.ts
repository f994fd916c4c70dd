import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { neverConnected } from '../../../src/domain/connectivity.ts';
import type { EventType } from '../../../src/domain/events.ts';
import type { ApplicationId, DeviceId, ProductId, RequestId } from '../../../src/domain/ids.ts';
import { Readiness } from '../../../src/ops/readiness.ts';
import { openRecords, type RecordsHouse } from '../../../src/server/records.ts';
import type { Settings } from '../../../src/server/settings-schema.ts';
import { DrivenClock } from '../../support/driven-clock.ts';
import { FakeLog } from '../../support/fakes.ts';
import { temporaryStore } from '../../support/temporary-store.ts';
import { draftOf } from '../../support/test-journal.ts';

const device = 'TESTDEVICE01' as DeviceId;
const settings = {
  wakeup: { known_max: 10 } as Settings['wakeup'],
  events: { retention_days: 1, retained_max: 1000 },
};

function opened(t: TestContext, changes: Pick<RecordsHouse, 'onEvent'> = {}) {
  const store = temporaryStore(t);
  const house = {
    clock: new DrivenClock(),
    log: new FakeLog(),
    readiness: new Readiness(),
    productOf: () => 'doorbell' as ProductId,
    ...changes,
  };
  house.readiness.clear('starting');
  return { store, house, records: openRecords(store.state, settings, house) };
}

test('records of both connections and wakeups share one log, and every event of it is counted', async (t) => {
  const counted: EventType[] = [];
  const { records } = opened(t, { onEvent: (type) => counted.push(type) });
  records.sleep.write(device, neverConnected, draftOf(device, 1));
  records.signal.write(device, neverConnected, draftOf(device, 2));
  records.events.append(draftOf(device, 3));
  assert.equal(records.isOverloaded(), false);
  await records.close();
  assert.deepEqual(
    records.events.read(0, 10).map(({ data, seq, productId }) => [data, seq, productId]),
    [1, 2, 3].map((number) => [{ request_id: `ring-${number}` }, number, 'doorbell']),
  );
  assert.equal(counted.length, 3);
});

test('what collects and nobody waits for is committed by an orderly stop', async (t) => {
  const { records } = opened(t);
  records.sleep.write(device, { ...neverConnected, epoch: 7 }, null);
  await records.close();
  assert.equal(records.sleep.committed(device), null);
  assert.equal(records.sleep.read(device)?.epoch, 7);
  assert.equal(records.wakeups.find('app' as ApplicationId, 'r' as RequestId), null);
});

test('a store that refuses makes the node unready, says why, and does not keep it from stopping', async (t) => {
  const { store, house, records } = opened(t);
  const { clock, log, readiness } = house;
  await store.close();
  records.sleep.write(device, neverConnected, draftOf(device));
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

test('events are forgotten by the settings, from the start on and until the stop', async (t) => {
  const { house, records } = opened(t);
  records.events.append(draftOf(device, 1, house.clock.wallMs()));
  await records.sleep.allCommitted();
  house.clock.stepWall(24 * 3600 * 1000);
  house.clock.advance(1000);
  while (records.events.oldest === 1) await new Promise(setImmediate);
  assert.deepEqual([records.events.oldest, records.events.head], [2, 1]);
  await records.close();
  assert.equal(house.clock.pendingTimers, 0);
});
