/**
 * A server's worth of writing to be killed in the middle: writes records and accepted wakeups as fast as they
 * commit, and prints each number once the store has it. Every third session stays open. Run with a directory.
 */
import { SystemClock } from '../../src/base/system-clock.ts';
import type { ApplicationId, DeviceId, RequestId, SessionId } from '../../src/domain/ids.ts';
import { AcceptedWakeupStore } from '../../src/store/accepted-wakeup-store.ts';
import { ConnectionRecordStore } from '../../src/store/connection-record-store.ts';
import { openStore } from '../../src/store/open-store.ts';

const store = openStore(process.argv[2] ?? '');
const clock = new SystemClock();
const records = new ConnectionRecordStore(store.state, 'sleep', { clock, backlogMax: 100_000 });
const wakeups = new AcceptedWakeupStore(store.state, { clock, knownMax: 10_000_000, backlogMax: 100_000 });

for (let number = 0; ; number++) {
  const openSession = number % 3 === 0 ? (`session-${number}` as SessionId) : null;
  const deviceId = `device-${number}` as DeviceId;
  records.write(deviceId, {
    epoch: number + 1,
    lastLoginAt: number,
    lastHeartbeatAt: null,
    lastOfflineAt: null,
    openSession,
  });
  const wakeup = { deviceId, acceptedAtMs: clock.wallMs(), bodySha256: '0f'.repeat(32) };
  wakeups.add('app' as ApplicationId, `request-${number}` as RequestId, wakeup);
  // Several in a batch, and batches of every size.
  if (number % 7 !== 0) continue;
  await Promise.all([records.committed(deviceId), wakeups.allCommitted()]);
  process.stdout.write(`${number}\n`);
}
