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

export interface ConnectivityBatch<Entry> {
  readonly appId: ApplicationId;
  /** An invalid id is answered 40003 in its place. */
  readonly deviceIds: readonly string[];
  /** Converts a device's answer to its entry. If it throws, the entry is 50000. */
  entryOf(deviceId: string, answer: ConnectivityAnswer): Entry;
  onGone(listener: () => void): void;
}

/** One entry per id, in order; none once the caller has disconnected. Settles within 2 s. */
export async function queryConnectivityBatch<Entry>(
  deps: ConnectivityBatchDeps,
  batch: ConnectivityBatch<Entry>,
): Promise<Result<readonly Entry[], Refusal<42901>>> {
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
const internal = fail(refusal(50000));

class BatchRun<Entry> implements Steps {
  readonly #answer = deferred<readonly Entry[]>();
  readonly finished = this.#answer.promise;
  readonly #batch: ConnectivityBatch<Entry>;
  readonly #deps: ConnectivityDeps;
  readonly #entries: (Entry | undefined)[];
  #next = 0;
  #left: number;
  #hasLogged = false;

  constructor(deps: ConnectivityBatchDeps, batch: ConnectivityBatch<Entry>) {
    const { log } = deps;
    const { length } = batch.deviceIds;
    this.#batch = batch;
    // Logs once: one cause fails all devices alike.
    this.#deps = { ...deps, log: { error: (fields, text) => this.#logOnce(log, fields, text) } };
    this.#entries = Array.from({ length });
    this.#left = length;
  }

  get isFinished(): boolean {
    return this.#next >= this.#entries.length || this.#left === 0;
  }

  step(devicesMax: number): number {
    const begin = this.#next;
    const end = Math.min(begin + devicesMax, this.#entries.length);
    while (this.#next < end) this.#query(this.#next++);
    return end - begin;
  }

  /** Answers the devices without an entry 50401. */
  expire(): void {
    for (const [place, entry] of this.#entries.entries()) if (entry === undefined) this.#put(place, timedOut);
  }

  abandon(): void {
    this.#left = 0;
    this.#answer.resolve([]);
  }

  fail(error: unknown): void {
    this.#left = 0;
    this.#answer.reject(error as Error);
  }

  #query(place: number): void {
    const deviceId = parseDeviceId(this.#batch.deviceIds[place] ?? '');
    if (deviceId === null) return this.#put(place, invalidId);
    const answer = answerConnectivity(this.#deps, this.#batch.appId, deviceId);
    if (answer instanceof Promise) void answer.then((settled) => this.#put(place, settled));
    else this.#put(place, answer);
  }

  #put(place: number, answer: ConnectivityAnswer): void {
    if (this.#left === 0 || this.#entries[place] !== undefined) return;
    this.#entries[place] = this.#entryOf(place, answer);
    this.#left -= 1;
    if (this.#left === 0) this.#answer.resolve(this.#entries as readonly Entry[]);
  }

  #entryOf(place: number, answer: ConnectivityAnswer): Entry {
    const deviceId = this.#batch.deviceIds[place] ?? '';
    try {
      return this.#batch.entryOf(deviceId, answer);
    } catch (error) {
      this.#deps.log.error({ err: error }, 'connectivity: record not encoded; answered 50000');
      return this.#batch.entryOf(deviceId, internal);
    }
  }

  #logOnce(log: ConnectivityDeps['log'], fields: object, message: string): void {
    if (!this.#hasLogged) log.error(fields, message);
    this.#hasLogged = true;
  }
}
