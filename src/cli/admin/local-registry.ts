/**
 * Access of commands to the registry of a data directory on this machine: reads, with secrets, through the running server or from
 * the store at rest; and changes at rest, each recorded in the audit log. A command that opens the store holds the directory's
 * lock, so that no server can start meanwhile.
 */
import { rm } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import type { EventsAnswer } from '../../gateways/admin/event-query.ts';
import {
  encodeImportReport,
  type ImportReportJson,
  type ImportTerms,
} from '../../gateways/admin/import-query.ts';
import { assert } from '../../lib/assert.ts';
import type { AuditAction, AuditIds, AuditOutcome } from '../../model/audit.ts';
import type { EventId } from '../../model/ids.ts';
import type { JsonObject } from '../../model/json.ts';
import { importOutcome } from '../../server/bootstrap/unasked-changes.ts';
import { AuditLog } from '../../storage/audit/audit-log.ts';
import { makeTemporaryDirectory } from '../../storage/lmdb/leftovers.ts';
import { openFoundStore, openStore, openStoreAtRest, type Store } from '../../storage/lmdb/open-store.ts';
import { hasStore } from '../../storage/lmdb/store-access.ts';
import { eventIdMs } from '../../storage/events/event-rows.ts';
import { StoredEvents } from '../../storage/events/stored-events.ts';
import { CommitSwitch } from '../../storage/registry/commit-switch.ts';
import { importInWorker } from '../../storage/registry/registry-thread.ts';
import { parseEntry, writeEntry } from '../../storage/registry/registry-entry.ts';
import { exportRegistry, type ExportRequest } from '../../storage/registry/registry-export.ts';
import { kindNames, type EntryOf, type KindName } from '../../storage/registry/registry-kinds.ts';
import { RegistryStore } from '../../storage/registry/registry-store.ts';
import { CommandError } from '../shell/command-error.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { nothingChanged, type FileWatch, type OpsClient } from './ops-client.ts';
import { findOpsClient } from './running-server.ts';

export interface LocalRegistry {
  counts(): Promise<Readonly<Record<KindName, number>>>;
  /** Time of the newest event in the store, wall milliseconds; 0: there is none. */
  newestEventMs(): Promise<number>;
  /** Size of the memory maps of the store's files, bytes; null while a running server holds them. */
  readonly mapBytes: number | null;
  /** An entry in the form of a registry file; its secret may be masked. */
  find(kind: KindName, id: string): Promise<JsonObject | null>;
  /** A consistent snapshot, in the form of a registry file. */
  export(request: ExportRequest): AsyncIterable<Uint8Array>;
}

/** Rejects with a StoreOpenError when there is no store, with an OpsUnavailableError while its server starts or stops. */
export async function withRegistry<Result>(
  dataDirectory: string,
  use: (registry: LocalRegistry) => Promise<Result>,
): Promise<Result> {
  const ops = findOpsClient({ profile: null, dataDirectory });
  if (ops !== null) return use(registryOf(ops));
  const store = openFoundStore(dataDirectory);
  try {
    return await use(registryAtRest(store));
  } finally {
    await store.close();
  }
}

function registryOf(ops: OpsClient): LocalRegistry {
  return {
    mapBytes: null,
    counts: () => ops.ask('/v1/registry/counts'),
    newestEventMs: async () => {
      const query = new URLSearchParams({ last: '1' });
      const { events } = await ops.ask<EventsAnswer>('/v1/events', query);
      return events[0] === undefined ? 0 : eventIdMs(events[0].id as EventId);
    },
    find: (kind, id) => ops.findEntry(kind, id),
    async *export({ form, withSecrets }) {
      const query = new URLSearchParams({ form, with_secrets: String(withSecrets) });
      yield* (await ops.open('/v1/registry/export', query)).pieces;
    },
  };
}

function registryAtRest({ registry: tables, state }: Store): LocalRegistry {
  return {
    mapBytes: tables.environment.mapBytes + state.environment.mapBytes,
    counts: async () => new RegistryStore(tables).counts(),
    newestEventMs: async () => new StoredEvents(state).newest().idMs,
    find: async (kind, id) => {
      const entry = tables.find(kind, id);
      return entry === null ? null : writeEntry(kind, entry);
    },
    async *export(request) {
      for (const piece of exportRegistry(tables, request)) yield Buffer.from(piece);
    },
  };
}

/** The entries of one kind, with secrets. Entries of earlier kinds are skipped. */
export async function* entriesOf<Kind extends KindName>(
  registry: Pick<LocalRegistry, 'export'>,
  kind: Kind,
): AsyncGenerator<EntryOf[Kind], void, undefined> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const piece of registry.export({ form: 'ndjson', withSecrets: true })) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const { kind: found, ...json } = JSON.parse(line) as JsonObject;
      if (found === kind) yield readEntry(kind, json);
      else if (kindNames.indexOf(found as KindName) > kindNames.indexOf(kind)) return;
    }
  }
}

function readEntry<Kind extends KindName>(kind: Kind, json: JsonObject): EntryOf[Kind] {
  const entry = parseEntry(kind, json, { allowShortSecrets: true });
  assert(entry.ok, 'an export is a valid import');
  return entry.value;
}

export type RestingStore = Pick<CommandContext, 'clock' | 'dataDirectory' | 'settings'>;

export interface RestingChange<Result> {
  readonly action: AuditAction;
  readonly ids: AuditIds;
  readonly outcomeOf: (result: Result) => AuditOutcome;
}

/** Rejects with an AuditRefusal, and changes nothing, when the audit log cannot be written. */
export async function changeAtRest<Result>(
  { clock, dataDirectory }: Pick<RestingStore, 'clock' | 'dataDirectory'>,
  { action, ids, outcomeOf }: RestingChange<Result>,
  act: (store: Store) => Promise<Result>,
): Promise<Result> {
  const store = openStoreAtRest(dataDirectory);
  const { directory } = store;
  const audit = new AuditLog({
    directory,
    clock,
    onRecorded: () => undefined,
    onLost: (_line, reason) =>
      process.stderr.write(`the result of this change is not in the audit log: ${reason}\n`),
  });
  const intent = { operator: 'cli', role: null, user: userName(), from: `pid ${process.pid}`, action, ids };
  try {
    return await audit.record(intent, () => act(store), outcomeOf);
  } finally {
    await store.close();
  }
}

/** Falls back when the user has no name, as in some containers. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
}

/** Imports as `OpsClient.importFile` does, but on a worker thread, so that this thread can cancel it. */
export async function importAtRest(
  resting: RestingStore,
  file: string,
  terms: ImportTerms,
  { onProgress, signal }: FileWatch = {},
): Promise<ImportReportJson> {
  const { dataDirectory, settings } = resting;
  if (terms.dryRun && !hasStore(dataDirectory))
    return importNowhere(resting, file, terms, { onProgress, signal });
  const { replace, dryRun } = terms;
  const allowShortSecrets = settings.registry.allow_short_secrets;
  const request = { file, ...terms, skipUnchanged: false, allowShortSecrets };
  const commitSwitch = new CommitSwitch();
  const cancel = (): void => void commitSwitch.cancel();
  signal?.addEventListener('abort', cancel);
  if (signal?.aborted === true) cancel();
  try {
    const ids = { file, replace, ...(dryRun && { dry_run: dryRun }) };
    const imported = await changeAtRest(
      resting,
      { action: 'registry.import', ids, outcomeOf: importOutcome },
      ({ directory }) =>
        importInWorker(directory, request, { ...(onProgress && { onProgress }), commitSwitch }),
    );
    if (imported.ok) return encodeImportReport(imported.value);
    throw new CommandError(imported.error.message, nothingChanged);
  } finally {
    signal?.removeEventListener('abort', cancel);
  }
}

async function importNowhere(
  { clock, settings }: RestingStore,
  file: string,
  terms: ImportTerms,
  watch: FileWatch,
): Promise<ImportReportJson> {
  const parent = makeTemporaryDirectory();
  const dataDirectory = join(parent, 'data');
  try {
    await openStore(dataDirectory).close();
    return await importAtRest({ clock, settings, dataDirectory }, file, terms, watch);
  } finally {
    await rm(parent, { recursive: true });
  }
}
