/**
 * A registry file into the store, in one transaction: all of it, or nothing and the name of the entry that was
 * wrong. Entries are added and replaced by id, none is deleted unless `replace`, and then no more than may be. The file is
 * streamed: memory does not grow with it. It can be cancelled until it is committed. Blocks its thread: for a worker thread
 * or a store at rest. Source: running.md, Data.
 */
import { resolve } from 'node:path';
import { ABORT } from 'lmdb';
import { fail, succeed } from '../../lib/result.ts';
import { ByteWindow, fileSha256 } from '../events/byte-window.ts';
import type { JsonObject } from '../../model/json.ts';
import { CommitSwitch } from './commit-switch.ts';
import type { EntryRules } from './entry-reader.ts';
import {
  ImportedEntries,
  noChanges,
  noCounts,
  type Counts,
  type DeletionLimit,
  type ImportChanges,
} from './import-changes.ts';
import { ImportReferences } from './import-references.ts';
import { readDocument, readLines, describePlace, detectForm, type RegistryItem } from './registry-text.ts';
import { parseEntry } from './registry-entry.ts';
import { idKeys, type KindName } from './registry-kinds.ts';
import type { RegistryTables } from './registry-tables.ts';
import { importedFilesMax, importProgressEntries, mapCheckEntries } from '../lmdb/store-limits.ts';

export interface ImportRequest {
  /** JSON document or NDJSON. */
  readonly file: string;
  /** True: afterwards the store holds what the file holds and nothing else. */
  readonly replace: boolean;
  /** With `replace`; left out: `few`. */
  readonly deletions?: DeletionLimit;
  /** True: everything is done and then undone, and nothing is written. Left out: false. */
  readonly dryRun?: boolean;
  /** True: a file imported before under this path, whose content is the same, is left alone. Not with `replace`. */
  readonly skipUnchanged: boolean;
  /** Left out: secrets have to be long. */
  readonly allowShortSecrets?: boolean;
}

export interface ImportReport {
  readonly file: string;
  /** The file has not changed since it was imported; nothing was done. */
  readonly skipped: boolean;
  /** Of the whole file; lowercase hex. */
  readonly sha256: string;
  readonly dryRun: boolean;
  /** Entries read, by kind. */
  readonly counts: Readonly<Counts>;
  readonly changes: ImportChanges;
  /** The first few of what was deleted, or would be. */
  readonly deletedIds: Readonly<Partial<Record<KindName, readonly string[]>>>;
}

/** How far an import is. */
export interface ImportProgress {
  /** `deleting`: what the file of a replacing import does not have. */
  readonly phase: 'reading' | 'deleting';
  /** Read or deleted so far. */
  readonly entries: number;
  /** Of the phase: 0 to 1. */
  readonly share: number;
}

export interface ImportWatch {
  /** Told now and then. */
  readonly onProgress?: (progress: ImportProgress) => void;
  /** Cancels it, as long as it is not committed. */
  readonly commitSwitch?: CommitSwitch;
}

/** Nothing has changed in the store. No secret is in it. */
export interface ImportFailure {
  readonly file: string;
  /** `line 12`, `devices[11]`, `byte 40`; null: the file as a whole. */
  readonly where: string | null;
  readonly kind: KindName | null;
  readonly id: string | null;
  readonly field: string | null;
  readonly reason: string;
  /** All of it in one line. */
  readonly message: string;
}

export type ImportResult =
  { readonly ok: true; readonly value: ImportReport } | { readonly ok: false; readonly error: ImportFailure };

type Item = Extract<RegistryItem, { ok: true }>;
/** A failure before the file's name is put to it. */
type Fault = Pick<ImportFailure, 'reason'> & Partial<Omit<ImportFailure, 'file' | 'message'>>;

export function importRegistry(
  tables: RegistryTables,
  request: ImportRequest,
  watch: ImportWatch = {},
): ImportResult {
  const { file } = request;
  try {
    const unchanged = findUnchanged(tables, request);
    if (unchanged !== null) return succeed(skippedReport(file, unchanged));
    const window = new ByteWindow(file);
    try {
      const imported = new RegistryImport(tables, request, watch, window).run();
      return 'reason' in imported ? fail(describeFault(file, imported)) : succeed(imported);
    } finally {
      window.close();
    }
  } catch (error) {
    // The file that cannot be read, or the disk that is full: the transaction is undone.
    return fail(describeFault(file, { reason: `cannot be imported: ${(error as Error).message}` }));
  }
}

function skippedReport(file: string, sha256: string): ImportReport {
  const [counts, changes] = [noCounts(), noChanges()];
  return { file, skipped: true, dryRun: false, sha256, counts, changes, deletedIds: {} };
}

/** The hash of a file that may be skipped; null: it may not. */
function findUnchanged(
  tables: RegistryTables,
  { file, replace, skipUnchanged }: ImportRequest,
): string | null {
  if (!skipUnchanged || replace) return null;
  const known = tables.imported.find(({ path }) => path === resolve(file));
  return known !== undefined && known.sha256 === fileSha256(file) ? known.sha256 : null;
}

const cancelledFault: Fault = { reason: 'the import was cancelled' };

/** One import, within its transaction. */
class RegistryImport {
  readonly #tables: RegistryTables;
  readonly #request: ImportRequest;
  readonly #rules: EntryRules;
  readonly #window: ByteWindow;
  readonly #onProgress: (progress: ImportProgress) => void;
  readonly #commitSwitch: CommitSwitch;
  readonly #counts = noCounts();

  constructor(tables: RegistryTables, request: ImportRequest, watch: ImportWatch, window: ByteWindow) {
    this.#tables = tables;
    this.#request = request;
    this.#rules = { allowShortSecrets: request.allowShortSecrets === true };
    this.#window = window;
    this.#onProgress = watch.onProgress ?? (() => undefined);
    this.#commitSwitch = watch.commitSwitch ?? new CommitSwitch();
  }

  run(): ImportReport | Fault {
    const form = detectForm(this.#window, this.#request.file);
    if (typeof form === 'object') return form;
    const items = form === 'ndjson' ? readLines(this.#window) : readDocument(this.#window);
    let outcome: ImportReport | Fault = cancelledFault;
    this.#tables.environment.transactionSync(() => {
      outcome = this.#importItems(items);
      return 'reason' in outcome || outcome.dryRun ? ABORT : undefined;
    });
    return outcome;
  }

  #importItems(items: Iterable<RegistryItem>): ImportReport | Fault {
    const { file, replace, deletions = 'few', dryRun = false } = this.#request;
    const entries = new ImportedEntries(this.#tables, replace);
    const fault = this.#putAll(items, entries);
    if (fault !== null) return fault;
    const excess = dryRun ? null : entries.findExcess(deletions);
    if (excess !== null) return { reason: excess };
    const deletedIds = entries.deletedIds();
    const sha256 = this.#window.sha256();
    if (!dryRun) {
      this.#removeOthers(entries);
      rememberFile(this.#tables, file, sha256);
    }
    if (!this.#commitSwitch.commit()) return cancelledFault;
    const { changes } = entries;
    return { file, skipped: false, dryRun, sha256, counts: this.#counts, changes, deletedIds };
  }

  #putAll(items: Iterable<RegistryItem>, entries: ImportedEntries): Fault | null {
    const references = new ImportReferences((kind, id) => entries.has(kind, id));
    let read = 0;
    for (const item of items) {
      const fault = item.ok ? this.#putItem(item, entries, references) : item;
      if (fault !== null) return fault;
      read += 1;
      if (read % mapCheckEntries === 0) this.#tables.environment.checkRoom();
      if (read % importProgressEntries !== 0) continue;
      if (this.#commitSwitch.isCancelled) return cancelledFault;
      this.#onProgress({ phase: 'reading', entries: read, share: this.#window.share });
    }
    const broken = references.findBroken();
    if (broken === null) return null;
    const { referrer, field, reason } = broken;
    return { where: describePlace(referrer.where), kind: referrer.kind, id: referrer.id, field, reason };
  }

  #putItem(
    { where, kind, json }: Item,
    entries: ImportedEntries,
    references: ImportReferences,
  ): Fault | null {
    const entry = parseEntry(kind, json, this.#rules);
    if (!entry.ok) return { ...entry.error, where: describePlace(where), kind, id: idInFile(kind, json) };
    const id = entries.put(kind, entry.value);
    this.#counts[kind] += 1;
    if (references.note(kind, entry.value, id, where)) return null;
    const reason =
      'comes after too many entries whose applications and products are not there yet: put those first';
    return { where: describePlace(where), kind, id, reason };
  }

  /** A cancelled import is undone all the same: it stops where it is. */
  #removeOthers(entries: ImportedEntries): void {
    const all = Object.values(entries.changes).reduce((sum, { deleted }) => sum + deleted, 0);
    entries.removeOthers((removed) => {
      this.#onProgress({ phase: 'deleting', entries: removed, share: removed / all });
      return !this.#commitSwitch.isCancelled;
    });
  }
}

/** Of an entry that may be wrong all through; null when it has no id that could be shown. */
function idInFile(kind: KindName, json: JsonObject): string | null {
  const id = json[idKeys[kind]];
  return typeof id === 'string' ? id : null;
}

const shownCharsMax = 255;

function describeFault(file: string, fault: Fault): ImportFailure {
  const { where = null, kind = null, reason } = fault;
  const id = fault.id?.slice(0, shownCharsMax) ?? null;
  const field = fault.field?.slice(0, shownCharsMax) ?? null;
  const entry = kind === null ? null : `${kind} ${id === null ? 'without id' : JSON.stringify(id)}`;
  const what = field === null ? reason : `${field} ${reason}`;
  const message = [file, where, entry, what].filter((part) => part !== null).join(': ');
  return { file, where, kind, id, field, reason, message };
}

function rememberFile(tables: RegistryTables, file: string, sha256: string): void {
  const path = resolve(file);
  const others = tables.imported.filter((known) => known.path !== path);
  tables.putImported([{ path, sha256 }, ...others].slice(0, importedFilesMax));
}
