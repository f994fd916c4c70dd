/**
 * Wakeups of the last 24 hours, in the journal. Wakeup ids ascend in the order of their answers. Three more tables index them: by
 * request id; those with an awaited outcome, so that a start finds them without a full scan; and the latest of each device, if a
 * request id names several. Wakeups younger than 24 h are never removed: when the table is full, `isFull` says so. A step of the
 * wall clock does not empty the tables (forgetting-pace.ts). Source: events.md, Reading.
 */
import type { Cancel, Clock } from '../../lib/clock.ts';
import type { EventDraft } from '../../model/events.ts';
import type { ApplicationId, DeviceId, RequestId, WakeupId } from '../../model/ids.ts';
import { wakeupKnownMs } from '../../model/limits.ts';
import { latestFirst, type KnownWakeup, type WakeupName, type WakeupRecord } from '../../model/wakeup.ts';
import type { WakeupRecords } from '../../core/ports/records.ts';
import { countEntries } from '../lmdb/environment.ts';
import type { Journal } from '../journal/journal.ts';
import { JournalSlot } from '../journal/journal-slot.ts';
import type { WakeupTransition } from '../journal/transition.ts';
import { ForgettingPace } from '../lmdb/forgetting-pace.ts';
import type { StateTables } from '../lmdb/state-tables.ts';
import { forgetWakeupsMs, forgetWakeupsSlice } from '../lmdb/store-limits.ts';
import {
  findLatestId,
  findName,
  findStoredWakeup,
  followAlias,
  listStoredWakeups,
  deviceKey,
  encodeWakeup,
  keyOfTime,
  nameKey,
  parseWakeupKey,
  timeKey,
  wakeupKey,
  type NameRow,
  type WakeupTables,
} from './stored-wakeups.ts';
import { UncommittedNames } from './uncommitted-names.ts';

export interface WakeupRecordSettings {
  readonly clock: Clock;
  /** Maximum number of known wakeups, in the store and in memory; beyond it 42901. */
  readonly knownMax: number;
  readonly batch: (write: () => void) => Promise<void>;
}

export class WakeupRecordStore implements WakeupRecords {
  readonly #tables: WakeupTables;
  readonly #journal: Journal;
  readonly #settings: WakeupRecordSettings;
  readonly #slot: JournalSlot<WakeupTransition>;
  readonly #uncommitted = new UncommittedNames();
  /** Number of wakeups in the store and in memory, with expired ones that are not removed yet. */
  #known: number;
  /** False: the table of the latest is empty, as nearly always, and is not read. */
  #hasLatest: boolean;
  readonly #pace: ForgettingPace;
  #isForgetting = false;

  constructor(state: StateTables, journal: Journal, settings: WakeupRecordSettings) {
    this.#tables = state.wakeups;
    this.#journal = journal;
    this.#settings = settings;
    this.#known = countEntries(this.#tables.records);
    this.#hasLatest = countEntries(this.#tables.latest) > 0;
    this.#pace = new ForgettingPace(settings.clock, wakeupKnownMs);
    this.#slot = new JournalSlot(
      journal,
      (key, saved) => this.#put(key, saved),
      ({ appId, requestId, record: { deviceId, id } }) =>
        this.#uncommitted.remove(nameKey(requestId, appId), deviceId, id),
    );
  }

  find(name: WakeupName): WakeupRecord | null {
    const { appId, requestId, which } = name;
    const id = typeof which === 'string' ? which : this.#latestId(appId, requestId, which?.deviceId ?? null);
    if (id === null) return null;
    return this.#findKept(wakeupKey({ appId, requestId, id }));
  }

  list(requestId: RequestId, deviceId: DeviceId | null, limit: number): readonly KnownWakeup[] {
    const known = new Map<WakeupId, KnownWakeup>();
    const find = (key: string): WakeupRecord | null => this.#findKept(key);
    for (const stored of listStoredWakeups(this.#tables, requestId, deviceId, limit))
      known.set(stored.record.id, followAlias(stored, find));
    for (const [, { appId, requestId: id, record }] of this.#slot.entries())
      if (id === requestId && (deviceId === null || record.deviceId === deviceId))
        known.set(record.id, followAlias({ appId, requestId, record }, find));
    return latestFirst(known.values()).slice(0, limit);
  }

  /** Hot path: two reads of the store for each wakeup, unless the caller says that it is new. */
  save(
    appId: ApplicationId,
    requestId: RequestId,
    record: WakeupRecord,
    event: EventDraft | null,
    isNew?: true,
  ): void {
    const key = wakeupKey({ appId, requestId, id: record.id });
    const isFirst = isNew ?? !this.#isKept(key);
    if (isFirst) {
      this.#known += 1;
      this.#uncommitted.add(nameKey(requestId, appId), record.deviceId, record.id);
    }
    this.#slot.write(key, { kind: 'wakeup', appId, requestId, record, isFirst, event }, false);
  }

  committed({ appId, requestId, record: { id } }: KnownWakeup): Promise<void> | null {
    return this.#slot.committed(wakeupKey({ appId, requestId, id }));
  }

  awaited(): KnownWakeup[] {
    const keys = new Set<string>();
    for (const bytes of this.#tables.awaited.getKeys()) keys.add(keyOfTime(bytes));
    for (const [key] of this.#slot.entries()) keys.add(key);
    const wakeups: KnownWakeup[] = [];
    for (const key of keys) {
      const record = this.#findKept(key);
      if (record?.isAwaited !== true) continue;
      const { appId, requestId } = parseWakeupKey(key);
      wakeups.push({ appId, requestId, record });
    }
    return wakeups.sort((one, other) => one.record.begunAtMs - other.record.begunAtMs);
  }

  isFull(): boolean {
    return this.#known >= this.#settings.knownMax || this.#journal.isOverloaded;
  }

  start(): Cancel {
    return this.#settings.clock.every(forgetWakeupsMs, () => void this.forgetExpired());
  }

  /** Resolves when no expired wakeup is left, or the store refused a slice: the next round retries. Never rejects. */
  async forgetExpired(): Promise<void> {
    if (this.#isForgetting) return;
    this.#isForgetting = true;
    try {
      while ((await this.#forgetSlice()) > 0);
    } catch {
      // The journal reports the fault: it writes to the same store.
    } finally {
      this.#isForgetting = false;
    }
  }

  async #forgetSlice(): Promise<number> {
    const end = timeKey(this.#settings.clock.wallMs() - wakeupKnownMs + 1, '');
    // A full table rejects new wakeups, so removal is not paced.
    const isLimited = this.#known < this.#settings.knownMax;
    const allowed = isLimited ? this.#pace.allowed(this.#known) : forgetWakeupsSlice;
    const limit = Math.max(1, Math.min(forgetWakeupsSlice, allowed));
    const expired = Array.from(this.#tables.records.getKeys({ end, limit }));
    if (expired.length === 0) this.#pace.caughtUp();
    if (expired.length === 0 || allowed === 0) return 0;
    let forgotten = 0;
    await this.#settings.batch(() => {
      // The journal puts an uncommitted one again.
      const outdated = expired.filter((bytes) => this.#slot.get(keyOfTime(bytes)) === undefined);
      forgotten = outdated.length;
      for (const bytes of outdated) this.#forget(bytes);
    });
    this.#known -= forgotten;
    if (isLimited) this.#pace.forgot(forgotten);
    return forgotten;
  }

  #forget(bytes: Buffer): void {
    const { records, names, awaited, latest } = this.#tables;
    void records.remove(bytes);
    void awaited.remove(bytes);
    const key = keyOfTime(bytes);
    const found = findName(this.#tables, key);
    if (found === null) return;
    void names.remove(found.name);
    const { appId, requestId, id } = parseWakeupKey(key);
    for (const name of namesOf(appId, requestId, found.row[2] as DeviceId)) {
      const of = Buffer.from(name);
      if (latest.get(of) === id) void latest.remove(of);
    }
  }

  #latestId(appId: ApplicationId, requestId: RequestId, deviceId: DeviceId | null): WakeupId | null {
    const pending = this.#uncommitted.find(nameKey(requestId, appId), deviceId);
    try {
      return laterOf(findLatestId(this.#tables, appId, requestId, deviceId), pending);
    } catch (error) {
      if (pending === null) throw error;
      return pending;
    }
  }

  /** If the store cannot be read, the wakeup is kept and may be counted twice. */
  #isKept(key: string): boolean {
    try {
      return this.#slot.get(key) !== undefined || findName(this.#tables, key) !== null;
    } catch {
      return false;
    }
  }

  #findKept(key: string): WakeupRecord | null {
    return this.#slot.get(key)?.record ?? findStoredWakeup(this.#tables, key);
  }

  #put(key: string, { appId, requestId, record, isFirst }: WakeupTransition): void {
    const { records, awaited } = this.#tables;
    const bytes = timeKey(record.begunAtMs, key);
    void records.put(bytes, encodeWakeup(record));
    if (record.isAwaited) void awaited.put(bytes, true);
    else if (!isFirst) void awaited.remove(bytes);
    if (isFirst) this.#putName(key, record, appId, requestId);
  }

  #putName(key: string, record: WakeupRecord, appId: ApplicationId, requestId: RequestId): void {
    const { names, latest } = this.#tables;
    const name = Buffer.from(nameKey(requestId, appId));
    const row: NameRow = [record.id, record.begunAtMs, record.deviceId];
    const first = names.get(name);
    // Without a first one, others may have outlived it.
    const isOnly = first === undefined && !(this.#hasLatest && latest.get(name) !== undefined);
    if (isOnly) return void names.put(name, row);
    void names.put(Buffer.from(key), row);
    for (const [id, , deviceId] of first === undefined ? [row] : [first, row])
      for (const of of namesOf(appId, requestId, deviceId as DeviceId)) this.#putLatest(Buffer.from(of), id);
  }

  #putLatest(name: Buffer, id: string): void {
    const { latest } = this.#tables;
    this.#hasLatest = true;
    if ((latest.get(name) ?? '') < id) void latest.put(name, id);
  }
}

function namesOf(appId: ApplicationId, requestId: RequestId, deviceId: DeviceId): readonly string[] {
  return [nameKey(requestId, appId), deviceKey(appId, requestId, deviceId)];
}

function laterOf(one: WakeupId | null, other: WakeupId | null): WakeupId | null {
  return one === null || (other !== null && other > one) ? other : one;
}
