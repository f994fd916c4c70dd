/** The changes that no token stands behind, as the audit log tells them: the start of the server, and signals to it. */
import { messageOf } from '../../lib/result.ts';
import type { AuditAction, AuditIds, AuditIntent, AuditOutcome } from '../../model/audit.ts';
import type { AuditLog } from '../../storage/audit/audit-log.ts';
import type { ImportResult } from '../../storage/registry/registry-import-messages.ts';
import type { DemoRegistry } from '../config/demo-seed.ts';
import type { ServerContext } from './server-context.ts';

type Audit = Pick<AuditLog, 'record'>;

/** The registry file at the start. Rejects with an AuditRefusal, and does nothing, like `recordSeed`. */
export function recordFirstImport(
  audit: Audit,
  file: string,
  act: () => Promise<ImportResult>,
): Promise<ImportResult> {
  return audit.record(intentOf('start', 'registry.import', { file, replace: false }), act, importOutcome);
}

export function recordSeed(audit: Audit, act: () => Promise<DemoRegistry>): Promise<DemoRegistry> {
  return audit.record(intentOf('start', 'registry.seed', {}), act, ({ credential }) => {
    return { result: 'ok', ids: { access_key_id: credential.accessKeyId, app_id: credential.appId } };
  });
}

/** SIGHUP. `act` resolves to what became of the registry file; null: none is set. Never rejects. */
export async function recordReload(
  audit: Audit,
  { settings, log }: Pick<ServerContext, 'settings' | 'log'>,
  act: () => Promise<ImportResult | null>,
): Promise<void> {
  const { file } = settings.registry;
  const intent = intentOf('signal', 'settings.reload', file === null ? {} : { file });
  try {
    await audit.record(intent, act, (imported) =>
      imported === null ? { result: 'ok' } : reloadOutcome(imported),
    );
  } catch (error) {
    log.error({ reason: messageOf(error) }, 'not reloaded');
  }
}

/** SIGUSR2 to the supervisor. Never rejects. */
export async function recordRestart(
  audit: Audit,
  { log }: Pick<ServerContext, 'log'>,
  act: () => void,
): Promise<void> {
  try {
    await audit.record(
      intentOf('signal', 'cluster.restart', {}),
      async () => act(),
      () => ({ result: 'ok' }),
    );
  } catch (error) {
    log.error({ reason: messageOf(error) }, 'workers are not restarted');
  }
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
