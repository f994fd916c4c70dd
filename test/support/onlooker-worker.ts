/** A thread that opens the store's directory in parallel to the main thread and reports the log that it reads. */
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../../src/lib/assert.ts';
import type { DeviceId } from '../../src/model/ids.ts';
import { StateTables } from '../../src/storage/lmdb/state-tables.ts';
import { StoredEvents } from '../../src/storage/events/stored-events.ts';

export interface OnlookerTask {
  readonly directory: string;
  readonly deviceId: DeviceId;
}

/** The answer to a request with a head: the events read up to it. A head of 0 ends the thread. */
export interface OnlookerAnswer {
  readonly oldest: number;
  readonly sequences: readonly number[];
  readonly recent: readonly number[];
}

const port = parentPort;
assert(port !== null, 'an onlooker runs in a thread');
const { directory, deviceId } = workerData as OnlookerTask;
const tables = new StateTables(directory);
const stored = new StoredEvents(tables);

port.on('message', (head: number) => {
  if (head === 0) {
    void tables.environment.close().then(() => port.close());
    return;
  }
  stored.refresh();
  const answer: OnlookerAnswer = {
    oldest: stored.oldest,
    sequences: stored.read(0, 1_000_000, head).map(({ sequence }) => sequence),
    recent: stored.recentOf(deviceId).map(({ sequence }) => sequence),
  };
  port.postMessage(answer);
});
