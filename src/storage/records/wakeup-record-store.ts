/**
 * The wakeups of the last 24 hours, in the journal. Known by application and request id; a second table has them in
 * the order of their beginning, so that the old ones are found and forgotten a slice at a time, and a third those
 * whose outcome is awaited, so that a start finds them without a walk through a day. Full is said by `isFull` and
 * nothing younger than 24 h is ever forgotten. Source: decisions.md, Repeats; events.md, Reading.
 */
import type { Cancel, Clock } from '../../lib/clock.ts';
import type { EventDraft } from '../../model/events.ts';
import { wakeupKey, type ApplicationId, type RequestId } from '../../model/ids.ts';
import { wakeupKnownMs } from '../../model/limits.ts';
import type { WakeupRecord } from '../../model/wakeup.ts';
import type { KnownWakeup, WakeupRecords } from '../../core/ports/wakeup-records.ts';
import { countEntries } from '../lmdb/environment.ts';
import type { Journal } from '../journal/journal.ts';
import { JournalSlot } from '../journal/journal-slot.ts';
import type { WakeupTransition } from '../journal/transition.ts';
import type { StateTables } from '../lmdb/state-tables.ts';
import { countWakeupsMs, forgetWakeupsMs, forgetWakeupsSlice } from '../lmdb/store-limits.ts';
import {
  decodeWakeup,
  encodeWakeup,
  parseTimeKey,
  parseWakeupKey,
  timeKey,
  timeOf,
  type WakeupTables,
} from './wakeup-rows.ts';

export interface WakeupRecordSettings {
  readonly clock: Clock;
  /** Wakeups known at once, in the store and in memory; then 42901. */
  readonly knownMax: number;
  /** Commits what `write` puts, all or nothing; where others write too, nobody does while it reads and puts. */
  readonly batch: (write: () => void) => Promise<void>;
}

interface Saved extends WakeupTransition {
  /** The one it replaces, whose places in the order of time have to go; null: none. */
  readonly replaced: WakeupRecord | null;
}

interface TimePlace {
  readonly wallMs: number;
  readonly key: string;
}

export class WakeupRecordStore implements WakeupRecords {
  readonly #tables: WakeupTables;
  readonly #journal: Journal;
  readonly #settings: WakeupRecordSettings;
  readonly #slot: JournalSlot<Saved>;
  /**
   * In the store and on the way there, expired but not yet forgotten ones too. Of those on the way it misses some for a
   * moment where it is counted anew: the bound is a million, and need not be exact.
   */
  #known: number;
  #isForgetting = false;

  constructor(state: StateTables, journal: Journal, settings: WakeupRecordSettings) {
    this.#tables = state.wakeups;
    this.#journal = journal;
    this.#settings = settings;
    this.#known = countEntries(this.#tables.records);
    this.#slot = new JournalSlot(journal, (key, saved) => this.#put(key, saved));
  }

  find(appId: ApplicationId, requestId: RequestId): WakeupRecord | null {
    const record = this.#findKept(wakeupKey(appId, requestId));
    return record === null || this.#isExpired(record) ? null : record;
  }

  save(appId: ApplicationId, requestId: RequestId, record: WakeupRecord, event: EventDraft | null): void {
    const key = wakeupKey(appId, requestId);
    const replaced = this.#findReplaced(key);
    if (replaced === null) this.#known += 1;
    this.#slot.write(key, { kind: 'wakeup', appId, requestId, record, event, replaced }, false);
  }

  committed(appId: ApplicationId, requestId: RequestId): Promise<void> | null {
    return this.#slot.committed(wakeupKey(appId, requestId));
  }

  awaited(): KnownWakeup[] {
    const keys = new Set<string>();
    for (const bytes of this.#tables.awaited.getKeys()) keys.add(parseTimeKey(bytes).key);
    for (const [key] of this.#slot.entries()) keys.add(key);
    const wakeups: KnownWakeup[] = [];
    for (const key of keys) {
      const record = this.#findKept(key);
      if (record?.isAwaited === true) wakeups.push({ ...parseWakeupKey(key), record });
    }
    return wakeups.sort((one, other) => one.record.begunAtMs - other.record.begunAtMs);
  }

  isFull(): boolean {
    return this.#known >= this.#settings.knownMax || this.#journal.isOverloaded;
  }

  /** Counts again what is in the store, where other processes write it too: between two counts theirs are not seen. */
  followOthers(): Cancel {
    return this.#settings.clock.every(countWakeupsMs, () => this.#count());
  }

  /** Forgets expired wakeups from now on, a slice at a time, as fast as the store takes them. */
  start(): Cancel {
    return this.#settings.clock.every(forgetWakeupsMs, () => void this.forgetExpired());
  }

  /** Resolves when none is left, or the store refused a slice: the next round tries again. Never rejects. */
  async forgetExpired(): Promise<void> {
    if (this.#isForgetting) return;
    this.#isForgetting = true;
    try {
      while ((await this.#forgetSlice()) === forgetWakeupsSlice);
    } catch {
      // The same store refuses the journal too, and that tells.
    } finally {
      this.#isForgetting = false;
    }
  }

  #count(): void {
    try {
      this.#known = countEntries(this.#tables.records);
    } catch {
      // The count from before stands.
    }
  }

  async #forgetSlice(): Promise<number> {
    const end = timeKey(this.#settings.clock.wallMs() - wakeupKnownMs + 1, '');
    const times = Array.from(this.#tables.times.getKeys({ end, limit: forgetWakeupsSlice }));
    if (times.length === 0) return 0;
    let outdated: TimePlace[] = [];
    await this.#settings.batch(() => {
      outdated = times.map(parseTimeKey).filter((place) => this.#isOutdated(place));
      for (const time of times) this.#forgetPlace(time);
      for (const { key } of outdated) void this.#tables.records.remove(Buffer.from(key));
    });
    this.#known -= outdated.length;
    return times.length;
  }

  /** An id that began anew after its 24 hours has another time by now, or will have: then only the old time goes. */
  #isOutdated({ wallMs, key }: TimePlace): boolean {
    if (this.#slot.get(key) !== undefined) return false;
    const stored = this.#findStored(key);
    return stored !== null && timeOf(stored.begunAtMs) === wallMs;
  }

  #forgetPlace(time: Buffer): void {
    void this.#tables.times.remove(time);
    void this.#tables.awaited.remove(time);
  }

  #isExpired({ begunAtMs }: WakeupRecord): boolean {
    return this.#settings.clock.wallMs() - begunAtMs >= wakeupKnownMs;
  }

  /** A store that cannot be read must not lose what has happened; what it replaces is then forgotten by its time. */
  #findReplaced(key: string): WakeupRecord | null {
    try {
      return this.#findKept(key);
    } catch {
      return null;
    }
  }

  #findKept(key: string): WakeupRecord | null {
    return this.#slot.get(key)?.record ?? this.#findStored(key);
  }

  #findStored(key: string): WakeupRecord | null {
    const row = this.#tables.records.get(Buffer.from(key));
    return row === undefined ? null : decodeWakeup(row);
  }

  #put(key: string, { record, replaced }: Saved): void {
    const { records, times, awaited } = this.#tables;
    const time = timeKey(record.begunAtMs, key);
    void records.put(Buffer.from(key), encodeWakeup(record));
    if (replaced !== null && timeOf(replaced.begunAtMs) !== timeOf(record.begunAtMs))
      this.#forgetPlace(timeKey(replaced.begunAtMs, key));
    void times.put(time, true);
    if (record.isAwaited) void awaited.put(time, true);
    else if (replaced?.isAwaited === true) void awaited.remove(time);
  }
}
