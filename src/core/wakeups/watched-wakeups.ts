/**
 * The watched wakeups, by device: open ones, in the order in which their writes were answered, and completed
 * ones whose cause may still be reported. The watch (wakeup-watch.ts) adds and removes them.
 */
import type { WheelEntry } from '../../lib/collections/deadline-wheel.ts';
import type { ApplicationId, DeviceId, RequestId, SessionId, WakeupId } from '../../model/ids.ts';
import { wakeupsReportableMax } from '../../model/limits.ts';
import type { WakeupState } from '../../model/state/wakeup-outcome.ts';

export class WatchedWakeup implements WheelEntry {
  deadlineMs = 0;
  wheelNext: WheelEntry | null = null;
  wheelPrevious: WheelEntry | null = null;
  readonly appId: ApplicationId;
  readonly requestId: RequestId;
  readonly deviceId: DeviceId;
  id: WakeupId | null = null;
  state: WakeupState;
  readonly aliases: RequestId[] = [];
  readers: Set<() => void> | null = null;

  constructor(appId: ApplicationId, requestId: RequestId, deviceId: DeviceId, state: WakeupState) {
    this.appId = appId;
    this.requestId = requestId;
    this.deviceId = deviceId;
    this.state = state;
  }

  get begunAtMs(): number {
    return this.state.kind === 'writing' ? this.state.begunAtMs : this.state.record.begunAtMs;
  }

  bears(requestId: RequestId): boolean {
    return this.requestId === requestId || this.aliases.includes(requestId);
  }

  /** True: the login of this signal session completed it. */
  isCompletedBy(sessionId: SessionId): boolean {
    return this.state.kind === 'settled' && this.state.sessionId === sessionId;
  }

  wakeReaders(): void {
    const readers = this.readers;
    this.readers = null;
    if (readers !== null) for (const notify of readers) notify();
  }
}

interface OfDevice {
  readonly open: WatchedWakeup[];
  readonly completed: WatchedWakeup[];
}

const none: readonly WatchedWakeup[] = [];

export class WatchedWakeups {
  readonly #byDevice = new Map<DeviceId, OfDevice>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** An answered one. */
  find(deviceId: DeviceId, id: WakeupId): WatchedWakeup | null {
    const { open, completed } = this.#byDevice.get(deviceId) ?? { open: none, completed: none };
    return open.find((one) => one.id === id) ?? completed.find((one) => one.id === id) ?? null;
  }

  /** A copy, so that wakeups may end during the iteration. */
  openOf(deviceId: DeviceId): readonly WatchedWakeup[] {
    return this.#byDevice.get(deviceId)?.open.slice() ?? none;
  }

  completedOf(deviceId: DeviceId): readonly WatchedWakeup[] {
    return this.#byDevice.get(deviceId)?.completed.slice() ?? none;
  }

  /** Adds a wakeup whose write begins: indexed by device, without an id. */
  add(watched: WatchedWakeup): void {
    const { deviceId } = watched;
    const known = this.#byDevice.get(deviceId);
    if (known === undefined) this.#byDevice.set(deviceId, { open: [watched], completed: [] });
    else known.open.push(watched);
    this.#size += 1;
  }

  /** Sets the id of an answered wakeup, and moves it to the end of the open ones. */
  answered(watched: WatchedWakeup, id: WakeupId): void {
    const open = this.#byDevice.get(watched.deviceId)?.open;
    if (open !== undefined && open.at(-1) !== watched) {
      removeFrom(open, watched);
      open.push(watched);
    }
    watched.id = id;
  }

  /** Moves a wakeup to the completed ones. Returns the one to remove if there are too many. */
  complete(watched: WatchedWakeup): WatchedWakeup | null {
    const ofDevice = this.#byDevice.get(watched.deviceId);
    if (ofDevice === undefined) return null;
    removeFrom(ofDevice.open, watched);
    ofDevice.completed.push(watched);
    return ofDevice.completed.length > wakeupsReportableMax ? (ofDevice.completed[0] ?? null) : null;
  }

  remove(watched: WatchedWakeup): void {
    const ofDevice = this.#byDevice.get(watched.deviceId);
    if (ofDevice === undefined) return;
    if (removeFrom(ofDevice.open, watched) || removeFrom(ofDevice.completed, watched)) this.#size -= 1;
    if (ofDevice.open.length === 0 && ofDevice.completed.length === 0)
      this.#byDevice.delete(watched.deviceId);
  }
}

function removeFrom(list: WatchedWakeup[], watched: WatchedWakeup): boolean {
  const index = list.indexOf(watched);
  if (index !== -1) list.splice(index, 1);
  return index !== -1;
}
