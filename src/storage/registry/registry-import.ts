/**
 * A registry file into the store, in one transaction: all of it, or nothing and the name of the entry that was
 * wrong. Entries are added and replaced by id, none is deleted unless `replace`. The file is streamed: memory
 * does not grow with it. Blocks its thread: for a worker thread or a store at rest. Source: running.md, Data.
 */
import { resolve } from 'node:path';
import { ABORT } from 'lmdb';
import { fail, succeed } from '../../lib/result.ts';
import { ByteWindow, fileSha256 } from '../events/byte-window.ts';
import type { JsonObject } from '../../model/json.ts';
import type { EntryRules } from './entry-reader.ts';
import { ImportReferences } from './import-references.ts';
import { readDocument, readLines, describePlace, detectForm, type RegistryItem } from './registry-text.ts';
import { parseEntry } from './registry-entry.ts';
import { idKeys, type KindName, kindNames } from './registry-kinds.ts';
import type { RegistryTables } from './registry-tables.ts';
import { importedFilesMax, importProgressEntries, mirrorEntriesSlice } from '../lmdb/store-limits.ts';
import { entryKey, type UnsharedEntries } from './mirrored-rows.ts';

export interface ImportRequest {
  /** JSON document or NDJSON. */
  readonly file: string;
  /** True: afterwards the store holds what the file holds and nothing else. */
  readonly replace: boolean;
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
  /** Entries read, by kind. */
  readonly counts: Readonly<Record<KindName, number>>;
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
type Counts = Record<KindName, number>;
/** A failure before the file's name is put to it. */
type Fault = Pick<ImportFailure, 'reason'> & Partial<Omit<ImportFailure, 'file' | 'message'>>;

/** `onProgress` is told the entries read so far, now and then. */
export function importRegistry(
  tables: RegistryTables,
  request: ImportRequest,
  onProgress: (entries: number) => void = () => undefined,
): ImportResult {
  const { file } = request;
  try {
    const unchanged = findUnchanged(tables, request);
    if (unchanged !== null) return succeed({ file, skipped: true, sha256: unchanged, counts: noCounts() });
    const window = new ByteWindow(file);
    try {
      const imported = importWindow(tables, request, window, onProgress);
      return 'reason' in imported ? fail(describeFault(file, imported)) : succeed(imported);
    } finally {
      window.close();
    }
  } catch (error) {
    // The file that cannot be read, or the disk that is full: the transaction is undone.
    return fail(describeFault(file, { reason: `cannot be imported: ${(error as Error).message}` }));
  }
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

function importWindow(
  tables: RegistryTables,
  request: ImportRequest,
  window: ByteWindow,
  onProgress: (entries: number) => void,
): ImportReport | Fault {
  const form = detectForm(window, request.file);
  if (typeof form === 'object') return form;
  const items = form === 'ndjson' ? readLines(window) : readDocument(window);
  const rules = { allowShortSecrets: request.allowShortSecrets === true };
  const counts = noCounts();
  let fault: Fault | null = null;
  let sha256 = '';
  tables.environment.transactionSync(() => {
    const seen = request.replace ? beginReplacing(tables) : null;
    fault = putItems(tables, items, { counts, seen, rules, onProgress });
    if (fault !== null) return ABORT;
    seen?.removeOthers();
    sha256 = window.sha256();
    rememberFile(tables, request.file, sha256);
    return undefined;
  });
  return fault ?? { file: request.file, skipped: false, sha256, counts };
}

/** Null: the tables are empty now. Other nodes have to hear of what is not in the file, so there it goes at the end. */
function beginReplacing(tables: RegistryTables): SeenEntries | null {
  if (tables.unshared?.isOn === true) return new SeenEntries(tables, tables.unshared);
  tables.clear();
  return null;
}

interface ImportRun {
  readonly counts: Counts;
  /** Null: what is there stays. */
  readonly seen: SeenEntries | null;
  readonly rules: EntryRules;
  readonly onProgress: (entries: number) => void;
}

function putItems(
  tables: RegistryTables,
  items: Iterable<RegistryItem>,
  { counts, seen, rules, onProgress }: ImportRun,
): Fault | null {
  const references = new ImportReferences((kind, id) => (seen ?? tables).has(kind, id));
  let entries = 0;
  for (const item of items) {
    const fault = item.ok ? putItem(tables, references, item, { seen, rules }) : item;
    if (fault !== null) return fault;
    if (item.ok) counts[item.kind] += 1;
    entries += 1;
    if (entries % importProgressEntries === 0) onProgress(entries);
  }
  const broken = references.findBroken();
  if (broken === null) return null;
  const { referrer, field, reason } = broken;
  return { where: describePlace(referrer.where), kind: referrer.kind, id: referrer.id, field, reason };
}

function putItem(
  tables: RegistryTables,
  references: ImportReferences,
  { where, kind, json }: Item,
  { seen, rules }: Pick<ImportRun, 'seen' | 'rules'>,
): Fault | null {
  const entry = parseEntry(kind, json, rules);
  if (!entry.ok) return { ...entry.error, where: describePlace(where), kind, id: idInFile(kind, json) };
  const id = tables.put(kind, entry.value);
  seen?.add(kind, id);
  if (references.note(kind, entry.value, id, where)) return null;
  const reason =
    'comes after too many entries whose applications and products are not there yet: put those first';
  return { where: describePlace(where), kind, id, reason };
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

function noCounts(): Counts {
  return { application: 0, product: 0, credential: 0, device: 0, webhook: 0, bridge: 0 };
}

class SeenEntries {
  readonly #tables: RegistryTables;
  readonly #unshared: UnsharedEntries;

  constructor(tables: RegistryTables, unshared: UnsharedEntries) {
    this.#tables = tables;
    this.#unshared = unshared;
  }

  add(kind: KindName, id: string): void {
    void this.#unshared.seen.put(entryKey(kind, id), true);
  }

  has(kind: KindName, id: string): boolean {
    return this.#unshared.seen.getBinaryFast(entryKey(kind, id)) !== undefined;
  }

  /** At the end of the import. */
  removeOthers(): void {
    for (const kind of kindNames) for (const id of this.#others(kind)) this.#tables.remove(kind, id);
    this.#unshared.seen.clearSync();
  }

  *#others(kind: KindName): Generator<string, void, undefined> {
    for (let ids = this.#tables.ids(kind, mirrorEntriesSlice); ids.length > 0;) {
      for (const id of ids) if (!this.has(kind, id)) yield id;
      ids = this.#tables.ids(kind, mirrorEntriesSlice, ids.at(-1));
    }
  }
}
