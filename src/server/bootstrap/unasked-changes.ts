/**
 * The changes that no token stands behind, with their lines in the audit log: the import of the registry file at the start, and
 * signals to the server.
 */
import { resolve } from 'node:path';
import { messageOf } from '../../lib/result.ts';
import type { AuditAction, AuditIds, AuditIntent, AuditOutcome } from '../../model/audit.ts';
import type { AuditLog } from '../../storage/audit/audit-log.ts';
import type { ImportResult } from '../../storage/registry/registry-import.ts';
import { encodeImportReport } from '../../gateways/admin/import-query.ts';
import type { ServerContext } from './server-context.ts';
import type { RegistryRefresh } from './registry-refresh.ts';

type Audit = Pick<AuditLog, 'record'>;

interface RegistryFilling {
  readonly refresh: RegistryRefresh;
  readonly audit: AuditLog;
}

/** The registry at the start, from its file where one is set. Rejects when the file cannot come in, or with an AuditRefusal. */
export async function fillRegistry(
  { settings, registry, log }: Pick<ServerContext, 'settings' | 'registry' | 'log'>,
  { refresh, audit }: RegistryFilling,
): Promise<void> {
  const { file } = settings.registry;
  if (file !== null) {
    const intent = intentOf('start', 'registry.import', { file, replace: false });
    const importing = (): Promise<ImportResult> =>
      refresh.import({ file, replace: false, skipUnchanged: true });
    const result = await audit.record(intent, importing, importOutcome);
    if (!result.ok) throw new Error(result.error.message);
  }
  if (registry.isEmpty())
    log.warn(
      { data_dir: resolve(settings.data.dir) },
      'the registry is empty: nobody can call and no device can log in; check the data directory, or see reveille registry import --help',
    );
}

/** The registry file, of a core that serves already. Never rejects; a failure is logged and changes nothing. */
export async function importLate(
  context: Pick<ServerContext, 'settings' | 'registry' | 'log'>,
  filling: RegistryFilling,
): Promise<void> {
  if (context.settings.registry.file === null) return;
  try {
    await fillRegistry(context, filling);
  } catch (error) {
    context.log.error({ reason: messageOf(error) }, 'the registry stays as the core before had it');
  }
}

export interface Reloaded {
  /** Null: no registry file is set. */
  readonly imported: ImportResult | null;
  /** Failed parts, a sentence each. */
  readonly problems: readonly string[];
}

/** SIGHUP. Never rejects. */
export async function recordReload(
  audit: Audit,
  { settings, log }: Pick<ServerContext, 'settings' | 'log'>,
  act: () => Promise<Reloaded>,
): Promise<void> {
  const { file } = settings.registry;
  const intent = intentOf('signal', 'settings.reload', file === null ? {} : { file });
  try {
    await audit.record(intent, act, reloadOutcome);
  } catch (error) {
    log.error({ reason: messageOf(error) }, 'not reloaded');
  }
}

/** SIGUSR2. `act` returns why it is refused; null: it begins. Never rejects. */
export async function recordUpgrade(
  audit: Audit,
  { log }: Pick<ServerContext, 'log'>,
  act: () => string | null,
): Promise<void> {
  try {
    const refused = await audit.record(
      intentOf('signal', 'server.upgrade', {}),
      async () => act(),
      (reason) => (reason === null ? { result: 'ok' } : { result: 'refused', reason }),
    );
    if (refused !== null) log.error({ reason: refused }, 'not upgraded');
  } catch (error) {
    log.error({ reason: messageOf(error) }, 'not upgraded');
  }
}

function reloadOutcome({ imported, problems }: Reloaded): AuditOutcome {
  const outcome: AuditOutcome = imported === null ? { result: 'ok' } : importOutcome(imported);
  return problems.length === 0 ? outcome : { ...outcome, result: 'failed', reason: problems.join('; ') };
}

/** Also of a command on a store at rest. */
export function importOutcome(imported: ImportResult): AuditOutcome {
  if (!imported.ok) return { result: 'refused', reason: imported.error.message };
  const { skipped } = imported.value;
  const { counts, sha256, deleted, dry_run } = encodeImportReport(imported.value);
  const ids = {
    counts,
    sha256,
    ...(deleted && { deleted }),
    ...(skipped && { skipped }),
    ...(dry_run && { dry_run }),
  };
  return { result: 'ok', ids };
}

function intentOf(operator: 'start' | 'signal', action: AuditAction, ids: AuditIds): AuditIntent {
  return { operator, role: null, from: `pid ${process.pid}`, action, ids };
}

/** A registry that cannot be read is another fault. */
export function hasEntries(registry: Pick<ServerContext['registry'], 'isEmpty'>): boolean {
  try {
    return !registry.isEmpty();
  } catch {
    return true;
  }
}
