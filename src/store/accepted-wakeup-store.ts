/**
 * The wakeups accepted in the last 24 hours that carried a caller's X-Request-ID. Known by application and
 * request id; a second table has them in the order of their acceptance, so that the old ones are found and
 * forgotten a slice at a time. Full is said by `isFull` and nothing younger than 24 h is ever forgotten.
 * Source: decisions.md, Repeats.
 */
import type { Cancel, Clock } from '../base/clock.ts';
import type { ApplicationId, DeviceId, RequestId } from '../domain/ids.ts';
import { wakeupKnownMs } from '../domain/limits.ts';
import type { AcceptedWakeup, AcceptedWakeups } from '../ports/accepted-wakeups.ts';
import { countEntries } from './environment.ts';
import type { AcceptedWakeupRow, StateTables } from './state-tables.ts';
import { forgetWakeupsMs, forgetWakeupsSlice } from './store-limits.ts';
import { WriteBehind } from './write-behind.ts';

export interface AcceptedWakeupSettings {
  readonly clock: Clock;
  /** Wakeups known at once, in the store and in memory; then 42901. */
  readonly knownMax: number;
  /** Of those, in memory and not yet committed; then 42901. */
  readonly backlogMax: number;
  /** How long acceptances collect before they are committed together; nobody waits for them. */
  readonly collectMs?: number;
  readonly onHealth?: (failure: unknown) => void;
  /** Commits what `write` puts, all or nothing; the store's own unless a test wants it to fail. */
  readonly batch?: (write: () => void) => Promise<void>;
}

export class AcceptedWakeupStore implements AcceptedWakeups {
  readonly #state: StateTables;
  readonly #clock: Clock;
  readonly #knownMax: number;
  readonly #batch: (write: () => void) => Promise<void>;
  readonly #behind: WriteBehind<AcceptedWakeup>;
  /** In the store, expired but not yet forgotten ones too. */
  #stored: number;
  #isForgetting = false;

  constructor(state: StateTables, settings: AcceptedWakeupSettings) {
    const { clock, knownMax, batch = (write: () => void) => state.environment.batch(write) } = settings;
    this.#state = state;
    this.#clock = clock;
    this.#knownMax = knownMax;
    this.#batch = batch;
    this.#stored = countEntries(state.acceptedTimes);
    this.#behind = new WriteBehind({ ...settings, commit: (wakeups) => this.#commit(wakeups) });
  }

  /** False while the store refuses commits: what is accepted is known to this process only. */
  get isHealthy(): boolean {
    return this.#behind.isHealthy;
  }

  find(appId: ApplicationId, requestId: RequestId): AcceptedWakeup | null {
    const key = wakeupKey(appId, requestId);
    const wakeup = this.#behind.get(key) ?? this.#findStored(Buffer.from(key));
    return wakeup === null || this.#isExpired(wakeup.acceptedAtMs) ? null : wakeup;
  }

  add(appId: ApplicationId, requestId: RequestId, wakeup: AcceptedWakeup): void {
    this.#behind.set(wakeupKey(appId, requestId), wakeup);
  }

  isFull(): boolean {
    return this.#stored + this.#behind.backlog >= this.#knownMax || this.#behind.isOverloaded;
  }

  allCommitted(): Promise<void> {
    return this.#behind.allCommitted();
  }

  /** Forgets expired wakeups from now on, a slice at a time, as fast as the store takes them. */
  start(): Cancel {
    return this.#clock.every(forgetWakeupsMs, () => void this.forgetExpired());
  }

  /** Resolves when none is left, or the store refused a slice: the next round tries again. Never rejects. */
  async forgetExpired(): Promise<void> {
    if (this.#isForgetting) return;
    this.#isForgetting = true;
    try {
      while ((await this.#forgetSlice()) === forgetWakeupsSlice);
    } catch {
      // The same store refuses records too, and they tell.
    } finally {
      this.#isForgetting = false;
    }
  }

  async #forgetSlice(): Promise<number> {
    const end = timeKey(this.#clock.wallMs() - wakeupKnownMs + 1, '');
    const times = Array.from(this.#state.acceptedTimes.getKeys({ end, limit: forgetWakeupsSlice }));
    if (times.length === 0) return 0;
    await this.#batch(() => times.forEach((time) => this.#forget(time)));
    this.#stored -= times.length;
    return times.length;
  }

  /** An id that was accepted anew after its 24 hours has another time by now, or will have: then only the time goes. */
  #forget(time: Buffer): void {
    const key = time.subarray(timeBytes);
    void this.#state.acceptedTimes.remove(time);
    const isAnew = this.#behind.get(key.toString()) !== undefined;
    if (!isAnew && this.#findStored(key)?.acceptedAtMs === time.readUIntBE(0, timeBytes))
      void this.#state.acceptedWakeups.remove(key);
  }

  #isExpired(acceptedAtMs: number): boolean {
    return this.#clock.wallMs() - acceptedAtMs >= wakeupKnownMs;
  }

  #findStored(key: Buffer): AcceptedWakeup | null {
    const row = this.#state.acceptedWakeups.get(key);
    return row === undefined ? null : decodeRow(row);
  }

  async #commit(wakeups: ReadonlyMap<string, AcceptedWakeup>): Promise<void> {
    await this.#batch(() => this.#put(wakeups));
    this.#stored += wakeups.size;
  }

  #put(wakeups: ReadonlyMap<string, AcceptedWakeup>): void {
    for (const [key, wakeup] of wakeups) {
      void this.#state.acceptedWakeups.put(Buffer.from(key), encodeRow(wakeup));
      void this.#state.acceptedTimes.put(timeKey(wakeup.acceptedAtMs, key), true);
    }
  }
}

/** An application id holds no line feed, so the first one ends it. */
function wakeupKey(appId: ApplicationId, requestId: RequestId): string {
  return `${appId}\n${requestId}`;
}

/** Milliseconds in 48 bits last until the year 10889. */
const timeBytes = 6;

function timeKey(acceptedAtMs: number, key: string): Buffer {
  const bytes = Buffer.allocUnsafe(timeBytes + Buffer.byteLength(key));
  bytes.writeUIntBE(Math.max(0, Math.floor(acceptedAtMs)), 0, timeBytes);
  bytes.write(key, timeBytes);
  return bytes;
}

function encodeRow({ deviceId, acceptedAtMs, bodySha256 }: AcceptedWakeup): AcceptedWakeupRow {
  return [deviceId, acceptedAtMs, Buffer.from(bodySha256, 'hex')];
}

function decodeRow([deviceId, acceptedAtMs, bodySha256]: AcceptedWakeupRow): AcceptedWakeup {
  return {
    deviceId: deviceId as DeviceId,
    acceptedAtMs,
    bodySha256: Buffer.from(bodySha256).toString('hex'),
  };
}
