/** Entry of the backup thread: answers each request with the maximum size, then with the pieces in order. */
import { on } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../../lib/assert.ts';
import type { BackupAnswer, BackupAsk, BackupTask } from './backup-thread.ts';
import { openBackup } from './backup-writer.ts';

const port = parentPort;
assert(port !== null, 'a backup is taken on a thread');
const { directory, nowMs } = workerData as BackupTask;
const asks = on(port, 'message')[Symbol.asyncIterator]() as AsyncIterator<[BackupAsk]>;

/** False: the reader has stopped. */
async function answer(value: BackupAnswer): Promise<boolean> {
  const { value: ask } = await asks.next();
  if (ask?.[0] !== 'next') return false;
  port?.postMessage(value);
  return true;
}

const backup = await openBackup(directory, nowMs);
try {
  let isWanted = await answer(backup.bytesMax);
  if (isWanted) for await (const piece of backup.pieces) if (!(isWanted = await answer(piece))) break;
  if (isWanted) await answer(null);
} finally {
  await backup.close();
}
port.close();
