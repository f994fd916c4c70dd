/**
 * The registry of a data directory, as commands on its own machine open it: a look into it, with its secrets and also while a
 * server runs, and changes while none does, each a line of the audit log. A change holds the lock of the directory, so that no
 * server starts meanwhile.
 */
import { rm } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import {
  encodeImportReport,
  type ImportReportJson,
  type ImportTerms,
} from '../../gateways/admin/import-query.ts';
import type { AuditAction, AuditIds, AuditOutcome } from '../../model/audit.ts';
import { importOutcome } from '../../server/bootstrap/unasked-changes.ts';
import { AuditLog } from '../../storage/audit/audit-log.ts';
import { makeTemporaryDirectory } from '../../storage/lmdb/leftovers.ts';
import { openStore, openStoreAtRest, openStoreReadOnly, type Store } from '../../storage/lmdb/open-store.ts';
import { hasStore } from '../../storage/lmdb/store-access.ts';
import { CommitSwitch } from '../../storage/registry/commit-switch.ts';
import { importInWorker } from '../../storage/registry/registry-thread.ts';
import { RegistryStore } from '../../storage/registry/registry-store.ts';
import type { RegistryTables } from '../../storage/registry/registry-tables.ts';
import { CommandError } from '../shell/command-error.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { nothingChanged, type FileWatch } from './ops-client.ts';

/** Throws a StoreOpenError when there is no store. The result of `look` must not refer to the store, which is closed. */
export async function lookIntoRegistry<Result>(
  dataDirectory: string,
  look: (registry: RegistryStore, tables: RegistryTables) => Result | Promise<Result>,
): Promise<Result> {
  const store = openStoreReadOnly(dataDirectory);
  try {
    return await look(new RegistryStore(store.registry), store.registry);
  } finally {
    await store.close();
  }
}

export type RestingStore = Pick<CommandContext, 'clock' | 'dataDirectory' | 'settings'>;

/** A change, as the audit log has it. */
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
    told: () => undefined,
    lost: (_line, reason) =>
      process.stderr.write(`the result of this change is not in the audit log: ${reason}\n`),
  });
  const intent = { operator: 'cli', role: null, user: userName(), from: `pid ${process.pid}`, action, ids };
  try {
    return await audit.record(intent, () => act(store), outcomeOf);
  } finally {
    await store.close();
  }
}

/** A container may run as a user without a name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
}

/** Imports as `OpsClient.importFile` does; on a thread, so that this one can cancel it. */
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

/** A dry run without a store makes none. */
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
