/**
 * `kill -9` at any point: committed records and events are kept together, and open sessions end once.
 * Source: running.md, Data; decisions.md, Durable.
 */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { test } from 'node:test';
import { SystemClock } from '../../src/lib/system-clock.ts';
import type { LoggedEvent } from '../../src/model/events.ts';
import type { ApplicationId, DeviceId, RequestId } from '../../src/model/ids.ts';
import { LostSessions } from '../../src/storage/journal/lost-sessions.ts';
import { ConnectionRecordStore } from '../../src/storage/records/connection-record-store.ts';
import { findConnectionRecord } from '../../src/storage/records/connection-rows.ts';
import { openStore, type Store } from '../../src/storage/lmdb/open-store.ts';
import { StoreOpenError } from '../../src/storage/lmdb/store-format.ts';
import { StoredEvents } from '../../src/storage/events/stored-events.ts';
import { WakeupRecordStore } from '../../src/storage/records/wakeup-record-store.ts';
import { latestOf } from '../support/fakes.ts';
import { faultOf } from '../support/journal-model.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { openJournal } from '../support/test-journal.ts';
import { runArgs } from '../support/checkout.ts';
import { moduleBeside } from '../../src/lib/module-worker.ts';

const clock = new SystemClock();
const program = runArgs(moduleBeside('store-crash-process', import.meta.url));
const app = 'app' as ApplicationId;

function startWriter(directory: string): ChildProcess {
  return spawn(process.execPath, [...program, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

interface Told {
  /** The last acknowledged number. */
  readonly last: number;
  /** Ids of the events that followers received, in order. */
  readonly eventIds: readonly string[];
}

/** Kills the writer once it has acknowledged `atLeast`, and returns its reports. */
async function killAfter(writer: ChildProcess, atLeast: number): Promise<Told> {
  assert.ok(writer.stdout !== null);
  const gone = once(writer, 'exit');
  const eventIds: string[] = [];
  let last = -1;
  for await (const line of createInterface({ input: writer.stdout })) {
    const [number = '', sequence, id] = line.split(' ');
    if (number !== 'event') last = Number(line);
    // The last line may be incomplete.
    else if (id?.length === 36) assert.equal(eventIds.push(id), Number(sequence));
    if (last >= atLeast) writer.kill('SIGKILL');
  }
  await gone;
  return { last, eventIds };
}

/** Opens the parts of a server on this store. */
const everybody = (): boolean => true;

function partsOf(store: Store) {
  const { journal, events } = openJournal(store, { clock });
  const { state } = store;
  const batch = (write: () => void): Promise<void> => state.environment.transaction(write);
  const sleep = new ConnectionRecordStore(state, 'sleep', journal);
  const signal = new ConnectionRecordStore(state, 'signal', journal);
  return {
    events,
    records: sleep,
    lost: new LostSessions({ state, records: { sleep, signal }, node: 'node-2' }),
    wakeups: new WakeupRecordStore(state, journal, { clock, knownMax: 10_000_000, batch }),
  };
}

/** Asserts that every record equals the state after its events, and has events. */
function assertAgree(records: ConnectionRecordStore, logged: readonly LoggedEvent[]): void {
  const open = new Map<DeviceId, boolean>();
  for (const event of logged)
    if (event.type === 'device.sleep.login') open.set(event.deviceId, true);
    else if (event.type === 'device.sleep.offline') open.set(event.deviceId, false);
  for (const [deviceId, isOpen] of open)
    assert.equal(records.read(deviceId)?.openSession !== null, isOpen, deviceId);
  assert.equal(records.read(`device-${open.size}` as DeviceId), null, 'no record without its event');
}

for (const atLeast of [7, 3500])
  test(`a writer killed after ${atLeast} acknowledged writes has lost none of them`, async (t) => {
    const directory = join(temporaryDirectory(t), 'data');
    const { last, eventIds } = await killAfter(startWriter(directory), atLeast);
    assert.ok(last >= atLeast);
    assert.ok(eventIds.length > 0);

    const store = openStore(directory);
    const { records, lost, wakeups, events } = partsOf(store);
    for (let number = 0; number <= last; number++) {
      assert.equal(records.read(`device-${number}` as DeviceId)?.lastLoginAt, number);
      assert.notEqual(wakeups.find(latestOf(app, `request-${number}` as RequestId)), null);
    }
    const logged = events.read(0, 1_000_000);
    assert.equal(faultOf(logged), null);
    assert.deepEqual(
      logged.slice(0, eventIds.length).map(({ id }) => id),
      eventIds,
      'every event that was told is there, in its place',
    );
    assertAgree(records, logged);
    assert.ok(wakeups.awaited().length > last);

    const atMs = 2_000_000_000_000;
    const closed = await lost.close('sleep', everybody, atMs);
    assert.ok(closed >= Math.floor(last / 3) + 1);
    const ends = events.read(logged.length, 1_000_000);
    assert.equal(ends.length, closed);
    assert.ok(ends.every(({ type }) => type === 'device.sleep.offline'));
    assertAgree(records, [...logged, ...ends]);
    for (let number = 0; number <= last; number++) {
      const record = records.read(`device-${number}` as DeviceId);
      assert.equal(record?.openSession, null);
      assert.equal(record.lastOfflineAt, number % 3 === 0 ? atMs / 1000 : null);
    }
    await store.close();

    const again = openStore(directory);
    const { records: recordsAgain, lost: lostAgain, events: eventsAgain } = partsOf(again);
    assert.equal(await lostAgain.close('sleep', everybody, atMs + 1000), 0);
    assert.equal(recordsAgain.read('device-0' as DeviceId)?.lastOfflineAt, atMs / 1000);
    assert.equal(eventsAgain.head, logged.length + closed);
    assert.equal(faultOf(eventsAgain.read(0, 1_000_000)), null);
    await again.close();
  });

test('a store in use is refused with the name of the process, and opens after a kill', async (t) => {
  const directory = join(temporaryDirectory(t), 'data');
  const writer = startWriter(directory);
  assert.ok(writer.stdout !== null);
  await once(writer.stdout, 'data');

  assert.throws(
    () => openStore(directory),
    (error) => error instanceof StoreOpenError && error.message.includes(`process ${writer.pid}:`),
  );
  const gone = once(writer, 'exit');
  writer.kill('SIGKILL');
  await gone;
  const store = openStore(directory);
  const { sleep } = store.state.connections;
  assert.equal(findConnectionRecord(sleep, 'device-0' as DeviceId)?.epoch, 1);
  const stored = new StoredEvents(store.state);
  assert.ok(stored.head >= 1);
  assert.equal(stored.recentOf('device-0' as DeviceId).at(-1)?.type, 'device.sleep.login');
  await store.close();
});
