/**
 * Imports a registry file in one transaction: all of it, or nothing and the name of the wrong entry. Entries are added and replaced
 * by id; none is deleted without `replace`, and then at most the allowed number. The file is streamed, so memory does not grow with
 * it. It can be cancelled until the commit. Blocks its thread: for a worker thread or an idle store. Source: running.md, Data.
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
  readonly file: string;
  /** True: the store ends up with exactly the entries of the file. */
  readonly replace: boolean;
  /** Only with `replace`. Default: `few`. */
  readonly deletions?: DeletionLimit;
  /** True: runs the import, then aborts the transaction. Default: false. */
  readonly dryRun?: boolean;
  /** True: skips a file that was imported before under this path with the same content. Not with `replace`. */
  readonly skipUnchanged: boolean;
  /** Default: false; short secrets are rejected. */
  readonly allowShortSecrets?: boolean;
}

export interface ImportReport {
  readonly file: string;
  /** True: the file is unchanged since its last import, and was skipped. */
  readonly skipped: boolean;
  /** Hash of the whole file; lowercase hex. */
  readonly sha256: string;
  readonly dryRun: boolean;
  readonly counts: Readonly<Counts>;
  readonly changes: ImportChanges;
  /** Some ids that were deleted, or would be. */
  readonly deletedIds: Readonly<Partial<Record<KindName, readonly string[]>>>;
}

export interface ImportProgress {
  /** `deleting`: entries that the file of a replacing import lacks. */
  readonly phase: 'reading' | 'deleting';
  readonly entries: number;
  /** Progress of the phase: 0 to 1. */
  readonly share: number;
}

export interface ImportWatch {
  readonly onProgress?: (progress: ImportProgress) => void;
  /** Cancels the import until it is committed. */
  readonly commitSwitch?: CommitSwitch;
}

/** The store is unchanged. Contains no secret. */
export interface ImportFailure {
  readonly file: string;
  /** `line 12`, `devices[11]`, `byte 40`; null: the whole file. */
  readonly where: string | null;
  readonly kind: KindName | null;
  readonly id: string | null;
  readonly field: string | null;
  readonly reason: string;
  readonly message: string;
}

export type ImportResult =
  { readonly ok: true; readonly value: ImportReport } | { readonly ok: false; readonly error: ImportFailure };

type Item = Extract<RegistryItem, { ok: true }>;
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
    // The file is unreadable or the disk is full: the transaction is aborted.
    return fail(describeFault(file, { reason: `cannot be imported: ${(error as Error).message}` }));
  }
}

function skippedReport(file: string, sha256: string): ImportReport {
  const [counts, changes] = [noCounts(), noChanges()];
  return { file, skipped: true, dryRun: false, sha256, counts, changes, deletedIds: {} };
}

/** Hash of a file that can be skipped; null: it cannot. */
function findUnchanged(
  tables: RegistryTables,
  { file, replace, skipUnchanged }: ImportRequest,
): string | null {
  if (!skipUnchanged || replace) return null;
  const known = tables.imported.find(({ path }) => path === resolve(file));
  return known !== undefined && known.sha256 === fileSha256(file) ? known.sha256 : null;
}

const cancelledFault: Fault = { reason: 'the import was cancelled' };

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
    if (references.add(kind, entry.value, id, where)) return null;
    const reason =
      'comes after too many entries whose applications and products do not exist yet: put those first';
    return { where: describePlace(where), kind, id, reason };
  }

  /** Stops early when cancelled: the transaction is aborted then. */
  #removeOthers(entries: ImportedEntries): void {
    const all = Object.values(entries.changes).reduce((sum, { deleted }) => sum + deleted, 0);
    entries.removeOthers((removed) => {
      this.#onProgress({ phase: 'deleting', entries: removed, share: removed / all });
      return !this.#commitSwitch.isCancelled;
    });
  }
}

/** Id of an entry that may be invalid throughout; null: it has none to show. */
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
