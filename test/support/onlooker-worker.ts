/** A thread that opens a store's directory beside the main one, and says what it reads of the log when it is asked. */
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../../src/lib/assert.ts';
import type { DeviceId } from '../../src/model/ids.ts';
import { StateTables } from '../../src/storage/lmdb/state-tables.ts';
import { StoredEvents } from '../../src/storage/events/stored-events.ts';

export interface OnlookerTask {
  readonly directory: string;
  readonly deviceId: DeviceId;
}

/** Asked with the head it was told; it answers what it has seen up to there, and ends when told of 0. */
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
