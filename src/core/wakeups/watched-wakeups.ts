/**
 * The wakeups that are being watched, found by their device and by their id. Of each device: those that are open, in the
 * order in which their writes were answered, and the completed ones whose cause may still be reported. The watch
 * (wakeup-watch.ts) decides what is added and removed.
 */
import type { WheelEntry } from '../../lib/deadline-wheel.ts';
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
  /** Null: its write is not answered yet. */
  id: WakeupId | null = null;
  state: WakeupState;
  /** Request ids of its repeats. */
  readonly aliases: RequestId[] = [];
  /** Called at its outcome; made when the first caller waits for it. */
  readers: Set<() => void> | null = null;

  constructor(appId: ApplicationId, requestId: RequestId, deviceId: DeviceId, state: WakeupState) {
    this.appId = appId;
    this.requestId = requestId;
    this.deviceId = deviceId;
    this.state = state;
  }

  /** Wall milliseconds at which its write began. */
  get begunAtMs(): number {
    return this.state.kind === 'writing' ? this.state.begunAtMs : this.state.record.begunAtMs;
  }

  /** By its own request id, or by that of a repeat. */
  bears(requestId: RequestId): boolean {
    return this.requestId === requestId || this.aliases.includes(requestId);
  }

  /** By the login of this signal session. */
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
  readonly #byId = new Map<WakeupId, WatchedWakeup>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  find(id: WakeupId): WatchedWakeup | null {
    return this.#byId.get(id) ?? null;
  }

  /** A copy, so that they may be settled while it is gone through. */
  openOf(deviceId: DeviceId): readonly WatchedWakeup[] {
    return this.#byDevice.get(deviceId)?.open.slice() ?? none;
  }

  completedOf(deviceId: DeviceId): readonly WatchedWakeup[] {
    return this.#byDevice.get(deviceId)?.completed.slice() ?? none;
  }

  /** Its write has begun: its device knows it, and it has no id yet. */
  add(watched: WatchedWakeup): void {
    const { deviceId } = watched;
    const known = this.#byDevice.get(deviceId);
    if (known === undefined) this.#byDevice.set(deviceId, { open: [watched], completed: [] });
    else known.open.push(watched);
    this.#size += 1;
  }

  /** Its write is answered: it is the last of the open ones, and has its id. */
  answered(watched: WatchedWakeup, id: WakeupId): void {
    const open = this.#byDevice.get(watched.deviceId)?.open;
    if (open !== undefined && open.at(-1) !== watched) {
      take(open, watched);
      open.push(watched);
    }
    watched.id = id;
    this.#byId.set(id, watched);
  }

  /** It is completed. Returns the one that has to go for it, if they are too many. */
  complete(watched: WatchedWakeup): WatchedWakeup | null {
    const ofDevice = this.#byDevice.get(watched.deviceId);
    if (ofDevice === undefined) return null;
    take(ofDevice.open, watched);
    ofDevice.completed.push(watched);
    return ofDevice.completed.length > wakeupsReportableMax ? (ofDevice.completed[0] ?? null) : null;
  }

  remove(watched: WatchedWakeup): void {
    const ofDevice = this.#byDevice.get(watched.deviceId);
    if (ofDevice === undefined) return;
    if (take(ofDevice.open, watched) || take(ofDevice.completed, watched)) this.#size -= 1;
    if (ofDevice.open.length === 0 && ofDevice.completed.length === 0)
      this.#byDevice.delete(watched.deviceId);
    if (watched.id !== null) this.#byId.delete(watched.id);
  }
}

/** False: it was not there. */
function take(list: WatchedWakeup[], watched: WatchedWakeup): boolean {
  const index = list.indexOf(watched);
  if (index !== -1) list.splice(index, 1);
  return index !== -1;
}
