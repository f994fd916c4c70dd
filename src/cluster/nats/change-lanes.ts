/**
 * Changes on their way to NATS: of one device strictly one after another, of many devices at once. What fails is tried
 * again, and nothing of its device overtakes it; while NATS is away nothing is begun. What can never succeed is told of
 * and dropped, and holds up nothing. How many changes there are at once their givers bound.
 */
import type { Cancel, Clock } from '../../lib/clock.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { Log } from '../../core/ports/log.ts';
import { RowUnreadable } from '../records/device-rows.ts';
import { changeRetryMsMax, changeRetryMsMin, outboxUnderWayMax } from '../records/row-limits.ts';

/** Resolves when it is done. What rejects is called again, and goes on where it was. */
export type Change = () => Promise<void>;

export interface LanesHouse {
  readonly clock: Clock;
  readonly log: Log;
  readonly isAway: () => boolean;
  /** Changes of this member that others do not see yet. */
  readonly waiting: () => number;
}

interface Lane {
  readonly deviceId: DeviceId;
  readonly changes: { readonly run: Change; readonly done: () => void }[];
  failures: number;
  /** While it rests after a failure. */
  wake: Cancel | null;
}

/** It cannot become better. */
export class ChangeRefused extends Error {}

export class ChangeLanes {
  readonly #house: LanesHouse;
  readonly #lanes = new Map<DeviceId, Lane>();
  readonly #resting = new Set<Lane>();
  #ready: Lane[] = [];
  #underWay = 0;
  #isTroubled = false;

  constructor(house: LanesHouse) {
    this.#house = house;
  }

  /** Behind everything of the device. `done` is called once, when it is done or dropped. */
  push(deviceId: DeviceId, run: Change, done: () => void): void {
    const lane = this.#lanes.get(deviceId);
    if (lane !== undefined) {
      lane.changes.push({ run, done });
      return;
    }
    const made: Lane = { deviceId, changes: [{ run, done }], failures: 0, wake: null };
    this.#lanes.set(deviceId, made);
    this.#ready.push(made);
    this.#begin();
  }

  /** The same; resolves when it is done or dropped. */
  perform(deviceId: DeviceId, run: Change): Promise<void> {
    return new Promise((resolve) => this.push(deviceId, run, resolve));
  }

  /** NATS may be back: what waits is tried now. */
  resume(): void {
    for (const lane of this.#resting) this.#rested(lane);
    this.#begin();
  }

  #begin(): void {
    const { isAway } = this.#house;
    while (this.#underWay < outboxUnderWayMax && this.#ready.length > 0 && !isAway()) {
      const lane = this.#ready.shift();
      if (lane !== undefined) void this.#run(lane);
    }
  }

  async #run(lane: Lane): Promise<void> {
    const [change] = lane.changes;
    if (change === undefined) return;
    this.#underWay += 1;
    let failure: { readonly error: unknown } | null = null;
    try {
      await change.run();
    } catch (error) {
      failure = { error };
    }
    this.#underWay -= 1;
    if (failure === null) this.#finish(lane);
    else this.#failed(lane, failure.error);
    this.#begin();
  }

  #finish(lane: Lane): void {
    if (lane.failures > 0) this.#recovered();
    lane.failures = 0;
    const change = lane.changes.shift();
    if (lane.changes.length > 0) this.#ready.push(lane);
    else this.#lanes.delete(lane.deviceId);
    change?.done();
  }

  #failed(lane: Lane, error: unknown): void {
    const { log, clock } = this.#house;
    if (canNeverSucceed(error)) {
      log.error({ err: error, device_id: lane.deviceId }, 'a change that cannot be shared is dropped');
      this.#finish(lane);
      return;
    }
    this.#troubled(error);
    const delayMs = Math.min(changeRetryMsMin * 2 ** lane.failures, changeRetryMsMax);
    lane.failures += 1;
    this.#resting.add(lane);
    lane.wake = clock.after(delayMs, () => {
      this.#rested(lane);
      this.#begin();
    });
  }

  #rested(lane: Lane): void {
    lane.wake?.();
    lane.wake = null;
    this.#resting.delete(lane);
    this.#ready.push(lane);
  }

  /** Told once for each outage, not for each change. */
  #troubled(error: unknown): void {
    if (this.#isTroubled) return;
    this.#isTroubled = true;
    const { log, waiting } = this.#house;
    log.warn(
      { err: error, waiting: waiting() },
      'changes cannot be shared; they wait here, and are tried on',
    );
  }

  #recovered(): void {
    if (this.#resting.size > 0) return;
    this.#isTroubled = false;
    const { log, waiting } = this.#house;
    log.info({ waiting: waiting() }, 'changes are shared again');
  }
}

/** What is shared first, and then what is told of it; null: nothing is. The first is not done again for the second. */
export function inTwo<Told>(share: () => Promise<Told | null>, tell: (told: Told) => Promise<void>): Change {
  let shared: { readonly told: Told | null } | null = null;
  return async () => {
    shared ??= { told: await share() };
    if (shared.told !== null) await tell(shared.told);
  };
}

/** A value that is not as it should be, or our own mistake. */
function canNeverSucceed(error: unknown): boolean {
  return (
    error instanceof ChangeRefused ||
    error instanceof RowUnreadable ||
    error instanceof TypeError ||
    error instanceof RangeError
  );
}
