/**
 * Changes on their way to NATS: those of one device strictly one after another, those of many devices concurrently. A
 * change that fails is retried, and nothing of its device overtakes it; while NATS is unavailable none begins. A change
 * that can never succeed is logged and dropped. The callers bound how many changes wait.
 */
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import type { Cancel } from '../../lib/clock.ts';
import type { DeviceId } from '../../model/ids.ts';
import { RowUnreadable } from '../records/device-rows.ts';
import { changeRetryMsMax, changeRetryMsMin, outboxUnderWayMax } from '../records/row-limits.ts';

/** Resolves when it is done. One that rejects is called again, and goes on where it was. */
export type Change = () => Promise<void>;

export interface KeyedQueueDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly isUnavailable: () => boolean;
  /** The number of changes of this member that others do not see yet. */
  readonly waiting: () => number;
}

interface KeyQueue {
  readonly deviceId: DeviceId;
  readonly changes: { readonly run: Change; readonly done: () => void }[];
  failures: number;
  /** Cancels the rest after a failure. */
  wake: Cancel | null;
}

/** A change that no retry can make succeed. */
export class ChangeRefused extends Error {}

export class KeyedQueue {
  readonly #deps: KeyedQueueDeps;
  readonly #queues = new Map<DeviceId, KeyQueue>();
  readonly #resting = new Set<KeyQueue>();
  #ready: KeyQueue[] = [];
  #underWay = 0;
  #isTroubled = false;

  constructor(deps: KeyedQueueDeps) {
    this.#deps = deps;
  }

  /** Queues a change behind all others of the device. `done` is called once, when it is done or dropped. */
  push(deviceId: DeviceId, run: Change, done: () => void): void {
    const queue = this.#queues.get(deviceId);
    if (queue !== undefined) {
      queue.changes.push({ run, done });
      return;
    }
    const made: KeyQueue = { deviceId, changes: [{ run, done }], failures: 0, wake: null };
    this.#queues.set(deviceId, made);
    this.#ready.push(made);
    this.#begin();
  }

  /** Like `push`; resolves when the change is done or dropped. */
  perform(deviceId: DeviceId, run: Change): Promise<void> {
    return new Promise((resolve) => this.push(deviceId, run, resolve));
  }

  /** NATS may be back: retries at once what waits. */
  resume(): void {
    for (const queue of this.#resting) this.#rested(queue);
    this.#begin();
  }

  #begin(): void {
    const { isUnavailable } = this.#deps;
    while (this.#underWay < outboxUnderWayMax && this.#ready.length > 0 && !isUnavailable()) {
      const queue = this.#ready.shift();
      if (queue !== undefined) void this.#run(queue);
    }
  }

  async #run(queue: KeyQueue): Promise<void> {
    const [change] = queue.changes;
    if (change === undefined) return;
    this.#underWay += 1;
    let failure: { readonly error: unknown } | null = null;
    try {
      await change.run();
    } catch (error) {
      failure = { error };
    }
    this.#underWay -= 1;
    if (failure === null) this.#finish(queue);
    else this.#failed(queue, failure.error);
    this.#begin();
  }

  #finish(queue: KeyQueue): void {
    if (queue.failures > 0) this.#recovered();
    queue.failures = 0;
    const change = queue.changes.shift();
    if (queue.changes.length > 0) this.#ready.push(queue);
    else this.#queues.delete(queue.deviceId);
    change?.done();
  }

  #failed(queue: KeyQueue, error: unknown): void {
    const { log, clock } = this.#deps;
    if (canNeverSucceed(error)) {
      log.error({ err: error, device_id: queue.deviceId }, 'a change that cannot be shared is dropped');
      this.#finish(queue);
      return;
    }
    this.#troubled(error);
    const delayMs = Math.min(changeRetryMsMin * 2 ** queue.failures, changeRetryMsMax);
    queue.failures += 1;
    this.#resting.add(queue);
    queue.wake = clock.after(delayMs, () => {
      this.#rested(queue);
      this.#begin();
    });
  }

  #rested(queue: KeyQueue): void {
    queue.wake?.();
    queue.wake = null;
    this.#resting.delete(queue);
    this.#ready.push(queue);
  }

  /** Logs once for each outage, not for each change. */
  #troubled(error: unknown): void {
    if (this.#isTroubled) return;
    this.#isTroubled = true;
    const { log, waiting } = this.#deps;
    log.warn(
      { err: error, waiting: waiting() },
      'changes cannot be shared; they wait here until a retry succeeds',
    );
  }

  #recovered(): void {
    if (this.#resting.size > 0) return;
    this.#isTroubled = false;
    const { log, waiting } = this.#deps;
    log.info({ waiting: waiting() }, 'changes are shared again');
  }
}

/** A change in two steps: shares, then notifies of what was shared (null: of nothing). A retry does not share again. */
export function inTwo<Shared>(
  share: () => Promise<Shared | null>,
  notify: (value: Shared) => Promise<void>,
): Change {
  let shared: { readonly value: Shared | null } | null = null;
  return async () => {
    shared ??= { value: await share() };
    if (shared.value !== null) await notify(shared.value);
  };
}

/** A malformed value, or a programmer's mistake. */
function canNeverSucceed(error: unknown): boolean {
  return (
    error instanceof ChangeRefused ||
    error instanceof RowUnreadable ||
    error instanceof TypeError ||
    error instanceof RangeError
  );
}
