/** The worker's task: a message carries the number of a batch; the verdicts go to shared memory. */
import { workerData } from 'node:worker_threads';
import { HmacBatch } from './hmac-batch.ts';
import type { HmacBatchMemory } from './hmac-batch.ts';

const memories: readonly HmacBatchMemory[] = workerData;
const batches = memories.map((memory) => new HmacBatch(memory));

/** `index`: of the batch in the pool's `workerData`. */
export function verifyBatch(index: number): void {
  batches[index]?.verify();
}
