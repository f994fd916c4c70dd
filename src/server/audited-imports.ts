/** The changes that no operator's token stands behind, as the audit log tells them: the start of the server, and SIGHUP. */
import type { AuditAction, AuditIds, AuditIntent, AuditOutcome } from '../domain/audit.ts';
import type { AuditLog } from '../store/audit-log.ts';
import type { ImportResult } from '../store/registry-import-messages.ts';
import type { DemoRegistry } from './demo-seed.ts';
import type { Settings } from './settings-schema.ts';

type Audit = Pick<AuditLog, 'record'>;
type Import<Result extends ImportResult | null> = () => Promise<Result>;

/** The registry file at the start. Rejects with an AuditRefusal, and does nothing, like each of these. */
export function recordFirstImport(
  audit: Audit,
  file: string,
  act: Import<ImportResult>,
): Promise<ImportResult> {
  return audit.record(intentOf('start', 'registry.import', { file, replace: false }), act, importOutcome);
}

export function recordSeed(audit: Audit, act: () => Promise<DemoRegistry>): Promise<DemoRegistry> {
  return audit.record(intentOf('start', 'registry.seed', {}), act, ({ credential }) => {
    return { result: 'ok', ids: { access_key_id: credential.accessKeyId, app_id: credential.appId } };
  });
}

/** `act` resolves to what became of the registry file; null: none is set. */
export async function recordReload(
  audit: Audit,
  { registry: { file } }: Pick<Settings, 'registry'>,
  act: Import<ImportResult | null>,
): Promise<void> {
  const ids = file === null ? {} : { file };
  await audit.record(intentOf('signal', 'settings.reload', ids), act, (imported) =>
    imported === null ? { result: 'ok' } : reloadOutcome(imported),
  );
}

/** The rest was reloaded all the same. */
function reloadOutcome(imported: ImportResult): AuditOutcome {
  return imported.ok ? importOutcome(imported) : { result: 'failed', reason: imported.error.message };
}

/** Also of a command on a store at rest. */
export function importOutcome(imported: ImportResult): AuditOutcome {
  if (!imported.ok) return { result: 'refused', reason: imported.error.message };
  const { counts, sha256, skipped } = imported.value;
  return { result: 'ok', ids: { counts, sha256, ...(skipped && { skipped }) } };
}

function intentOf(operator: 'start' | 'signal', action: AuditAction, ids: AuditIds): AuditIntent {
  return { operator, role: null, from: `pid ${process.pid}`, action, ids };
}
