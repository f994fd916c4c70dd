/** The task of the pool's threads: one message in with the number of a batch, its verdicts in shared memory. */
import { workerData } from 'node:worker_threads';
import { HmacBatch } from './hmac-batch.ts';
import type { HmacBatchMemory } from './hmac-batch.ts';

const memories: readonly HmacBatchMemory[] = workerData;
const batches = memories.map((memory) => new HmacBatch(memory));

/** `index` is that of the batch among those the pool was made with. */
export function verifyBatch(index: number): void {
  batches[index]?.verify();
}
