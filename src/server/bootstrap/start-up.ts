/**
 * The steps of a start before anything listens: the registry comes in, and what the last stop left open is closed.
 */
import type { AuditLog } from '../../storage/audit/audit-log.ts';
import type { RegistryWriter } from '../../storage/registry/registry-write.ts';
import { recordFirstImport, recordSeed } from './unasked-changes.ts';
import { seedDemo, wantsDemo, type DemoRegistry } from '../config/demo-seed.ts';
import type { ServerContext } from './server-context.ts';
import type { RegistryRefresh } from './registry-refresh.ts';
import type { Settings } from '../config/settings-schema.ts';

interface RegistryFilling {
  readonly writer: RegistryWriter;
  readonly refresh: RegistryRefresh;
  readonly audit: AuditLog;
}

/** Resolves to what a first start with nothing configured makes; null: nothing was made. Rejects when the file cannot come in. */
export async function fillRegistry(
  settings: Settings,
  { registry, log }: ServerContext,
  { writer, refresh, audit }: RegistryFilling,
): Promise<DemoRegistry | null> {
  const { file } = settings.registry;
  if (file !== null) {
    const result = await recordFirstImport(audit, file, () =>
      refresh.import({ file, replace: false, skipUnchanged: true }),
    );
    if (!result.ok) throw new Error(result.error.message);
  } else if (wantsDemo(settings, registry)) return recordSeed(audit, () => seedDemo(writer));
  if (registry.isEmpty())
    log.warn(
      {},
      'the registry is empty: nobody can call and no device can log in; see reveille registry import --help',
    );
  return null;
}

/** Sessions that a crash left open end as lost with their node, and that is committed. */
export async function endOpenSessions({ records, clock, log }: ServerContext): Promise<void> {
  const atMs = clock.wallMs();
  // Of an earlier life of the only process that writes this store.
  const isGone = (): boolean => true;
  const signal = await records.closeSessionsOf('signal', isGone, atMs);
  const sleep = await records.closeSessionsOf('sleep', isGone, atMs);
  if (sleep + signal > 0)
    log.warn({ sleep, signal, reason: 'node_lost' }, 'sessions that the last stop left open are ended');
}
