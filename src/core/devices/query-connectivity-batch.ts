/**
 * Answers one query for the connections of many devices, each like the single query, within one deadline. Devices are queried in
 * one slice per turn of the event loop, and applications take turns. Source: API doc, Endpoint 1; cluster.md.
 */
import type { FairQueue, FairQueueShape, Steps } from '../../lib/collections/fair-queue.ts';
import { deferred } from '../../lib/deferred.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { overload, refusal, type Refusal } from '../../model/codes.ts';
import { parseDeviceId, type ApplicationId } from '../../model/ids.ts';
import { batchDevicesPerTurn, batchesPerApplicationMax, connectivityQueryMsMax } from '../../model/limits.ts';
import type { WaitingReaders } from '../events/waiting-readers.ts';
import { answerConnectivity, type ConnectivityAnswer, type ConnectivityDeps } from './query-connectivity.ts';

export interface ConnectivityBatchDeps extends ConnectivityDeps {
  readonly batches: WaitingReaders;
  readonly queue: FairQueue;
}

/** Units are devices. A batch has a fixed cost as well, about as much as ten devices. */
export const batchQueueShape: FairQueueShape = {
  unitsPerTurn: batchDevicesPerTurn,
  jobCost: 10,
  jobsMax: batchesPerApplicationMax,
};

export interface ConnectivityBatch {
  readonly appId: ApplicationId;
  /** An invalid id is answered 40003 in its place. */
  readonly deviceIds: readonly string[];
  onGone(listener: () => void): void;
}

/** One answer per id, in order; none once the caller has disconnected. Settles within 2 s. */
export async function queryConnectivityBatch(
  deps: ConnectivityBatchDeps,
  batch: ConnectivityBatch,
): Promise<Result<readonly ConnectivityAnswer[], Refusal<42901>>> {
  const slot = deps.batches.enter(batch.appId);
  if (slot === null) return fail(overload(batchesFullRetryMs));
  const run = new BatchRun(deps, batch);
  const cancel = deps.clock.after(connectivityQueryMsMax, () => run.expire());
  batch.onGone(() => run.abandon());
  const queued = deps.queue.run(batch.appId, run).catch((error: unknown) => run.fail(error));
  // A finished job leaves the queue only at its turn, and keeps its slot until then.
  void Promise.allSettled([queued, run.finished]).then(() => slot.leave());
  try {
    return succeed(await run.finished);
  } finally {
    cancel();
  }
}

/** A batch in progress ends within 2 s. */
const batchesFullRetryMs = 1000;

const invalidId = fail(refusal(40003, 'device_id must be 1-255 bytes of valid UTF-8'));
const timedOut = fail(refusal(50401));

class BatchRun implements Steps {
  readonly #all = deferred<readonly ConnectivityAnswer[]>();
  readonly finished = this.#all.promise;
  readonly #batch: ConnectivityBatch;
  readonly #deps: ConnectivityDeps;
  readonly #answers: (ConnectivityAnswer | undefined)[];
  #next = 0;
  #left: number;

  constructor(deps: ConnectivityBatchDeps, batch: ConnectivityBatch) {
    const { length } = batch.deviceIds;
    this.#batch = batch;
    this.#deps = { ...deps, log: new OnceLog(deps.log) };
    this.#answers = Array.from({ length });
    this.#left = length;
  }

  get isFinished(): boolean {
    return this.#next >= this.#answers.length || this.#left === 0;
  }

  step(devicesMax: number): number {
    const begin = this.#next;
    const end = Math.min(begin + devicesMax, this.#answers.length);
    while (this.#next < end) this.#query(this.#next++);
    return end - begin;
  }

  /** Answers the devices without an answer 50401. */
  expire(): void {
    for (const [place, answer] of this.#answers.entries())
      if (answer === undefined) this.#put(place, timedOut);
  }

  abandon(): void {
    this.#left = 0;
    this.#all.resolve([]);
  }

  fail(error: unknown): void {
    this.#left = 0;
    this.#all.reject(error as Error);
  }

  #query(place: number): void {
    const deviceId = parseDeviceId(this.#batch.deviceIds[place] ?? '');
    if (deviceId === null) return this.#put(place, invalidId);
    const answer = answerConnectivity(this.#deps, this.#batch.appId, deviceId);
    if (answer instanceof Promise) void answer.then((settled) => this.#put(place, settled));
    else this.#put(place, answer);
  }

  #put(place: number, answer: ConnectivityAnswer): void {
    if (this.#left === 0 || this.#answers[place] !== undefined) return;
    this.#answers[place] = answer;
    this.#left -= 1;
    if (this.#left === 0) this.#all.resolve(this.#answers as readonly ConnectivityAnswer[]);
  }
}

/**
 * Logs the first error only: one cause fails all devices alike. A class, because V8 allocates a function literal in an object in old
 * memory, where it would keep the batch until a full collection.
 */
class OnceLog {
  readonly #log: ConnectivityDeps['log'];
  #hasLogged = false;

  constructor(log: ConnectivityDeps['log']) {
    this.#log = log;
  }

  error(fields: object, message: string): void {
    if (!this.#hasLogged) this.#log.error(fields, message);
    this.#hasLogged = true;
  }
}
