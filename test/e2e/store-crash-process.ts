/**
 * Writes like a server, to be killed in the middle: records, wakeups and their events as fast as they commit. Prints each number once
 * committed, and each event once followers received it. Every third session stays open. Argument: a directory.
 */
import { SystemClock } from '../../src/lib/system-clock.ts';
import {
  generateWakeupId,
  type ApplicationId,
  type DeviceId,
  type RequestId,
  type SessionId,
} from '../../src/model/ids.ts';
import { ConnectionRecordStore } from '../../src/storage/records/connection-record-store.ts';
import { openStore } from '../../src/storage/lmdb/open-store.ts';
import { WakeupRecordStore } from '../../src/storage/records/wakeup-record-store.ts';
import { endOf, loginOf } from '../support/connection-changes.ts';
import { acceptedWakeup } from '../support/stored-wakeups.ts';
import { openJournal } from '../support/test-journal.ts';

const store = openStore(process.argv[2] ?? '');
const clock = new SystemClock();
const { journal, events } = openJournal(store, { clock });
const records = new ConnectionRecordStore(store.state, 'sleep', journal);
const wakeups = new WakeupRecordStore(store.state, journal, {
  clock,
  knownMax: 10_000_000,
  batch: (write) => store.state.environment.transaction(write),
});
const app = 'app' as ApplicationId;

events.follow((told) => {
  process.stdout.write(told.map(({ sequence, id }) => `event ${sequence} ${id}\n`).join(''));
});

for (let number = 0; ; number++) {
  const session = `session-${number}` as SessionId;
  const deviceId = `device-${number}` as DeviceId;
  const atMs = number * 1000;
  const record = { epoch: 1, lastLoginAt: number, lastHeartbeatAt: null, lastOfflineAt: null };
  const change = { session, epoch: 1, atMs };
  records.write(deviceId, { ...record, openSession: session }, loginOf(change));
  if (number % 3 !== 0) records.write(deviceId, { ...record, openSession: null }, endOf(change));
  const requestId = `request-${number}` as RequestId;
  const wakeup = acceptedWakeup({
    id: generateWakeupId(clock.wallMs(), number),
    deviceId,
    begunAtMs: clock.wallMs(),
    acceptedAtMs: clock.wallMs(),
    sleepEpoch: number + 1,
    packet: null,
  });
  wakeups.save(app, requestId, wakeup, {
    type: 'device.wakeup.accepted',
    data: { request_id: requestId, custom_data: null },
    deviceId,
    atMs,
    epoch: number + 1,
  });
  // Batches of all sizes.
  if (number % 7 !== 0) continue;
  await Promise.all([
    records.committed(deviceId),
    wakeups.committed({ appId: app, requestId, record: wakeup }),
  ]);
  process.stdout.write(`${number}\n`);
}
