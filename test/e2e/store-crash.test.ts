/** `kill -9` at any point: what was committed is there afterwards, and what was open is ended once. Source: running.md, Data. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { SystemClock } from '../../src/base/system-clock.ts';
import type { ApplicationId, DeviceId, RequestId } from '../../src/domain/ids.ts';
import { AcceptedWakeupStore } from '../../src/store/accepted-wakeup-store.ts';
import { ConnectionRecordStore } from '../../src/store/connection-record-store.ts';
import { openStore, openStoreReadOnly, type Store } from '../../src/store/open-store.ts';
import { StoreOpenError } from '../../src/store/store-open-error.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';

const clock = new SystemClock();
const program = fileURLToPath(new URL('./store-crash-process.ts', import.meta.url));

function startWriter(directory: string): ChildProcess {
  return spawn(process.execPath, ['--import', 'tsx', program, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/** Kills the writer without warning once it has acknowledged `atLeast`, and returns the last number it did. */
async function killAfter(writer: ChildProcess, atLeast: number): Promise<number> {
  assert.ok(writer.stdout !== null);
  const gone = once(writer, 'exit');
  let last = -1;
  for await (const line of createInterface({ input: writer.stdout })) {
    last = Number(line);
    if (last >= atLeast) writer.kill('SIGKILL');
  }
  await gone;
  return last;
}

function recordsOf(store: Store): ConnectionRecordStore {
  return new ConnectionRecordStore(store.state, 'sleep', { clock, backlogMax: 100_000 });
}

for (const atLeast of [0, 7, 700, 3500])
  test(`a writer killed after ${atLeast} acknowledged writes has lost none of them`, async (t) => {
    const directory = join(temporaryDirectory(t), 'data');
    const last = await killAfter(startWriter(directory), atLeast);
    assert.ok(last >= atLeast);

    const store = openStore(directory);
    const records = recordsOf(store);
    const wakeups = new AcceptedWakeupStore(store.state, {
      clock,
      knownMax: 10_000_000,
      backlogMax: 100_000,
    });
    for (let number = 0; number <= last; number++) {
      assert.equal(records.read(`device-${number}` as DeviceId)?.epoch, number + 1);
      assert.notEqual(wakeups.find('app' as ApplicationId, `request-${number}` as RequestId), null);
    }

    const nowS = 2_000_000_000;
    const acknowledgedOpen = Math.floor(last / 3) + 1;
    assert.ok((await records.closeOpenSessions(nowS)) >= acknowledgedOpen);
    for (let number = 0; number <= last; number++) {
      const record = records.read(`device-${number}` as DeviceId);
      assert.equal(record?.openSession, null);
      assert.equal(record.lastOfflineAt, number % 3 === 0 ? nowS : null);
    }
    await store.close();

    const again = openStore(directory);
    assert.equal(await recordsOf(again).closeOpenSessions(nowS + 1), 0);
    assert.equal(recordsOf(again).read('device-0' as DeviceId)?.lastOfflineAt, nowS);
    await again.close();
  });

test('while one process has the store another is refused by name, may look on, and takes over after a kill', async (t) => {
  const directory = join(temporaryDirectory(t), 'data');
  const writer = startWriter(directory);
  assert.ok(writer.stdout !== null);
  await once(writer.stdout, 'data');

  assert.throws(
    () => openStore(directory),
    (error) => error instanceof StoreOpenError && error.message.includes(`process ${writer.pid}:`),
  );
  const onlooker = openStoreReadOnly(directory);
  assert.equal(recordsOf(onlooker).read('device-0' as DeviceId)?.epoch, 1);
  await onlooker.close();

  const gone = once(writer, 'exit');
  writer.kill('SIGKILL');
  await gone;
  await openStore(directory).close();
});
