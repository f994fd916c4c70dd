/**
 * The verifiers of signatures: on worker threads, `auth.verification = pool`, or on the main loop, `inline`. What one turn of
 * the event loop collected is one task of the pool: jobs are written straight into a batch of shared memory, the task is the
 * batch's number, and the verdicts come back in the same memory. So crossing over costs the main loop one message a batch,
 * and a copy a job.
 *
 * Bounded by the batches there are: when each of them is on its way, `verify` throws. A batch too small to be
 * worth a message, and one whose worker died, is verified where it lies, on the main loop: it has everything.
 */
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import { hmacBatchBytesMax, hmacBatchesMax, hmacBatchJobsMax } from '../../model/limits.ts';
import { VerifierUnavailable, type SignatureVerifier } from '../../core/ports/signature-verifier.ts';
import { verifySignature, type SignatureJob, type SignatureVerdict } from '../../protocol/tgv1/signature.ts';
import { allocateHmacBatch, fitsHmacBatch, HmacBatch } from './hmac-batch.ts';
import { moduleBeside } from '../../lib/module-worker.ts';

export interface HmacPoolOptions {
  readonly threads: number;
  /** A worker died, or none can be started any more. Nothing is lost by it; it belongs in the log. */
  readonly onFault: (error: unknown) => void;
  readonly batches?: number;
  readonly batchJobsMax?: number;
  readonly batchBytesMax?: number;
  /** Batches with fewer jobs and bytes than this are verified on the main loop. */
  readonly crossingJobsMin?: number;
  readonly crossingBytesMin?: number;
  /** The task's file; a test has one that can be held up. */
  readonly workerFile?: URL;
}

/** One message costs the main loop as much as verifying about ten small jobs, or hashing 24 KiB. */
const defaults = {
  batches: hmacBatchesMax,
  batchJobsMax: hmacBatchJobsMax,
  batchBytesMax: hmacBatchBytesMax,
  crossingJobsMin: 10,
  crossingBytesMin: 24 * 1024,
  workerFile: moduleBeside('hmac-worker', import.meta.url),
};

/** Tasks a worker may have: the next one waits in its port, not for a turn of the main loop. */
const tasksPerThread = 2;

type Settle = (verdict: SignatureVerdict) => void;

/** A callback that throws is a fault of the process, as ever, but only after the others have been called. */
function notify(settle: Settle, verdict: SignatureVerdict): void {
  try {
    settle(verdict);
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

/** A batch and the callbacks that wait for its verdicts, by job. */
class PendingBatch {
  readonly index: number;
  readonly batch: HmacBatch;
  readonly #waiting: Settle[] = [];

  constructor(index: number, batch: HmacBatch) {
    this.index = index;
    this.batch = batch;
  }

  /** Calls `settle` with the verdict on the job added last. */
  enlist(settle: Settle): void {
    this.#waiting.push(settle);
  }

  /** Calls all of them and is empty again. */
  settle(): void {
    for (const [job, settle] of this.#waiting.entries()) notify(settle, this.batch.verdict(job));
    this.#waiting.length = 0;
    this.batch.clear();
  }
}

export class HmacPool implements SignatureVerifier {
  readonly #options: typeof defaults & HmacPoolOptions;
  readonly #threads: Piscina<number, void>;
  readonly #free: PendingBatch[];
  readonly #underWay = new Set<Promise<void>>();
  /** The one being filled; null when nothing was asked since the last one left. */
  #open: PendingBatch | null = null;
  #state: 'crossing' | 'staying' | 'closed' = 'crossing';

  private constructor(options: HmacPoolOptions) {
    this.#options = { ...defaults, ...options };
    const { batches, batchJobsMax, batchBytesMax, threads, workerFile, onFault } = this.#options;
    const memories = Array.from({ length: batches }, () => allocateHmacBatch(batchJobsMax, batchBytesMax));
    this.#free = memories.map((memory, index) => new PendingBatch(index, new HmacBatch(memory)));
    this.#threads = new Piscina({
      filename: fileURLToPath(workerFile),
      name: 'verifyBatch',
      workerData: memories,
      minThreads: threads,
      maxThreads: threads,
      concurrentTasksPerWorker: tasksPerThread,
      maxQueue: batches,
      recordTiming: false,
    });
    this.#threads.on('error', (error: unknown) => {
      onFault(error);
      if (this.#threads.threads.length === 0) this.#stay();
    });
  }

  /** Resolves when every thread is ready; rejects when one cannot be started. */
  static async start(options: HmacPoolOptions): Promise<HmacPool> {
    const pool = new HmacPool(options);
    try {
      // No batch has a job yet, so verifying one does nothing but load the task.
      await Promise.all(Array.from({ length: options.threads }, () => pool.#threads.run(0)));
    } catch (error) {
      await pool.close();
      throw error;
    }
    return pool;
  }

  verify(job: SignatureJob, settle: Settle): SignatureVerdict | 'later' {
    if (this.#state === 'closed') throw new VerifierUnavailable('closed');
    if (!fitsHmacBatch(job, this.#options.batchBytesMax)) return verifySignature(job);
    const pending = this.#add(job);
    if (pending === null) throw new VerifierUnavailable('full');
    pending.enlist(settle);
    return 'later';
  }

  /** Accepts nothing more; resolves when everything accepted has its verdict and the threads have ended. */
  async close(): Promise<void> {
    if (this.#open !== null) this.#send(this.#open);
    this.#state = 'closed';
    await Promise.all(this.#underWay);
    await this.#threads.destroy();
  }

  /** The batch that the job is now in; null when none has room. */
  #add(job: SignatureJob): PendingBatch | null {
    if (this.#open !== null) {
      if (this.#open.batch.add(job)) return this.#open;
      this.#send(this.#open);
    }
    const next = this.#free.pop();
    if (next === undefined) return null;
    next.batch.add(job);
    this.#open = next;
    // A microtask would be too soon: they run after each request, not after the turn.
    setImmediate(this.#endOfTurn, next);
    return next;
  }

  /** While every thread has its tasks the batch goes on collecting: a task that ends asks again. */
  readonly #endOfTurn = (pending: PendingBatch): void => {
    if (this.#open !== pending) return;
    const isBusy = this.#underWay.size >= this.#options.threads * tasksPerThread;
    if (!isBusy || !this.#isWorthCrossing(pending)) this.#send(pending);
  };

  #send(pending: PendingBatch): void {
    this.#open = null;
    if (this.#isWorthCrossing(pending)) this.#cross(pending);
    else this.#verifyHere(pending);
  }

  #isWorthCrossing({ batch }: PendingBatch): boolean {
    if (this.#state !== 'crossing') return false;
    return batch.jobs >= this.#options.crossingJobsMin || batch.bytes >= this.#options.crossingBytesMin;
  }

  #cross(pending: PendingBatch): void {
    const task = this.#threads.run(pending.index).then(
      () => this.#settle(pending),
      (error: unknown) => {
        this.#options.onFault(error);
        this.#verifyHere(pending);
      },
    );
    this.#underWay.add(task);
    void task.then(() => {
      this.#underWay.delete(task);
      if (this.#open !== null) setImmediate(this.#endOfTurn, this.#open);
    });
  }

  #verifyHere(pending: PendingBatch): void {
    pending.batch.verify();
    this.#settle(pending);
  }

  #settle(pending: PendingBatch): void {
    pending.settle();
    this.#free.push(pending);
  }

  /** No thread is left and none starts: what waits for one is refused by the threads, and so verified here. */
  #stay(): void {
    if (this.#state === 'crossing') this.#state = 'staying';
    void this.#threads.destroy();
  }
}

/** Verifies on the main loop. */
export const inlineVerifier = {
  verify: verifySignature,
  close: () => Promise.resolve(),
} satisfies SignatureVerifier;
