/**
 * Signature verification on worker threads (`auth.verification = pool`). All jobs of one turn of
 * the event loop form one task of the pool: they are written into a batch of shared memory, the task is the number of the batch,
 * and the verdicts return in the same memory. The main thread thus pays one message per batch and one copy per job.
 * The number of batches is fixed: if all are in flight, `verify` throws. A batch too small to be worth a message, or whose worker
 * died, is verified on the main thread.
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
  /** A worker died, or none can be started. No job is lost; the caller logs it. */
  readonly onFault: (error: unknown) => void;
  readonly batches?: number;
  readonly batchJobsMax?: number;
  readonly batchBytesMax?: number;
  /** Smaller batches, by jobs and bytes, are verified on the main thread. */
  readonly crossingJobsMin?: number;
  readonly crossingBytesMin?: number;
  /** The worker's module; tests use one that can be blocked. */
  readonly workerFile?: URL;
}

/** One message costs the main thread as much as verifying about ten small jobs, or hashing 24 KiB. */
const defaults = {
  batches: hmacBatchesMax,
  batchJobsMax: hmacBatchJobsMax,
  batchBytesMax: hmacBatchBytesMax,
  crossingJobsMin: 10,
  crossingBytesMin: 24 * 1024,
  workerFile: moduleBeside('hmac-worker', import.meta.url),
};

/** Tasks per worker: the next one waits in the worker's port instead of for a turn of the main thread. */
const tasksPerThread = 2;

type OnVerdict = (verdict: SignatureVerdict) => void;

/** A callback that throws is still a fatal error, but only after the others have been called. */
function notify(onVerdict: OnVerdict, verdict: SignatureVerdict): void {
  try {
    onVerdict(verdict);
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

/** A batch and the callbacks that await its verdicts, in the order of jobs. */
class PendingBatch {
  readonly index: number;
  readonly batch: HmacBatch;
  readonly #waiting: OnVerdict[] = [];

  constructor(index: number, batch: HmacBatch) {
    this.index = index;
    this.batch = batch;
  }

  enlist(onVerdict: OnVerdict): void {
    this.#waiting.push(onVerdict);
  }

  /** Calls every callback with its verdict and empties the batch. */
  notifyAll(): void {
    for (const [job, onVerdict] of this.#waiting.entries()) notify(onVerdict, this.batch.verdict(job));
    this.#waiting.length = 0;
    this.batch.clear();
  }
}

export class HmacPool implements SignatureVerifier {
  readonly #options: typeof defaults & HmacPoolOptions;
  readonly #threads: Piscina<number, void>;
  readonly #free: PendingBatch[];
  readonly #underWay = new Set<Promise<void>>();
  /** The batch being filled; null: no job since the last one left. */
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

  /** Resolves when every thread is ready; rejects if one cannot be started. */
  static async start(options: HmacPoolOptions): Promise<HmacPool> {
    const pool = new HmacPool(options);
    try {
      // Verifying an empty batch only loads the module.
      await Promise.all(Array.from({ length: options.threads }, () => pool.#threads.run(0)));
    } catch (error) {
      await pool.close();
      throw error;
    }
    return pool;
  }

  verify(job: SignatureJob, onVerdict: OnVerdict): SignatureVerdict | 'later' {
    if (this.#state === 'closed') throw new VerifierUnavailable('closed');
    if (!fitsHmacBatch(job, this.#options.batchBytesMax)) return verifySignature(job);
    const pending = this.#add(job);
    if (pending === null) throw new VerifierUnavailable('full');
    pending.enlist(onVerdict);
    return 'later';
  }

  /** Accepts no more jobs; resolves when all verdicts were delivered and the threads have ended. */
  async close(): Promise<void> {
    if (this.#open !== null) this.#send(this.#open);
    this.#state = 'closed';
    await Promise.all(this.#underWay);
    await this.#threads.destroy();
  }

  /** The batch that now contains the job; null: all are full. */
  #add(job: SignatureJob): PendingBatch | null {
    if (this.#open !== null) {
      if (this.#open.batch.add(job)) return this.#open;
      this.#send(this.#open);
    }
    const next = this.#free.pop();
    if (next === undefined) return null;
    next.batch.add(job);
    this.#open = next;
    // A microtask would be too early: microtasks run after each request, not after the turn.
    setImmediate(this.#endOfTurn, next);
    return next;
  }

  /** While every thread is busy, the batch keeps collecting jobs; a completed task checks again. */
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
      () => this.#complete(pending),
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
    this.#complete(pending);
  }

  #complete(pending: PendingBatch): void {
    pending.notifyAll();
    this.#free.push(pending);
  }

  /** No thread is left or can start: the pool rejects queued tasks, which are then verified here. */
  #stay(): void {
    if (this.#state === 'crossing') this.#state = 'staying';
    void this.#threads.destroy();
  }
}
