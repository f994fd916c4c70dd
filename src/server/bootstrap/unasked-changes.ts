/**
 * Changes without an operator: the import of the registry file at the start, and signals to the server. They have lines in the audit
 * log too.
 */
import { resolve } from 'node:path';
import { messageOf } from '../../lib/result.ts';
import type { AuditAction, AuditIds, AuditIntent, AuditOutcome } from '../../model/audit.ts';
import type { AuditLog } from '../../storage/audit/audit-log.ts';
import type { ImportResult } from '../../storage/registry/registry-import.ts';
import { encodeImportReport } from '../../gateways/admin/import-query.ts';
import type { ServerContext } from './server-context.ts';
import type { RegistryRefresh } from './registry-refresh.ts';
import type { CertificatesInForce } from '../config/certificates-in-force.ts';
import { listSettings } from '../config/settings-route.ts';
import type { ListenerName } from '../config/settings-schema.ts';
import type { UpgradeControl } from '../site/core-task.ts';
import type { Operators } from '../../gateways/ops/operators.ts';
import type { CallService } from './call-service.ts';
import type { Gateways } from './gateways.ts';

interface RegistryFilling {
  readonly refresh: RegistryRefresh;
  readonly audit: AuditLog;
}

/** Imports the registry file at the start, if one is set. Rejects when the import fails, or with an AuditRefusal. */
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
      'registry: empty: no backend and no device can log in; check the data directory, or see reveille registry import --help',
    );
}

/** Imports the registry file into a serving core. Never rejects; a failure is logged and changes nothing. */
export async function importLate(
  context: Pick<ServerContext, 'settings' | 'registry' | 'log'>,
  filling: RegistryFilling,
): Promise<void> {
  if (context.settings.registry.file === null) return;
  try {
    await fillRegistry(context, filling);
  } catch (error) {
    context.log.error(
      { reason: messageOf(error) },
      'registry import: failed; the registry stays as the previous core left it',
    );
  }
}

interface Reloaded {
  /** Null: no registry file is set. */
  readonly imported: ImportResult | null;
  /** One sentence for each failed part. */
  readonly problems: readonly string[];
}

/** SIGHUP: reloads the registry file, operators' tokens, certificates and token keys. Never rejects. */
export async function recordReload(parts: ReloadedParts): Promise<void> {
  const { settings, log } = parts.context;
  const { file } = settings.registry;
  const intent = intentOf('signal', 'settings.reload', file === null ? {} : { file });
  const recorded = parts.controlPlane.audit.record(intent, () => reloadAll(parts), reloadOutcome);
  await recorded.catch((error: unknown) => log.error({ reason: messageOf(error) }, 'not reloaded'));
}

interface ReloadedParts {
  readonly context: Pick<ServerContext, 'settings' | 'configured' | 'log' | 'tokenKeys'>;
  readonly controlPlane: {
    readonly audit: AuditLog;
    readonly operators: Operators;
    readonly calls: CallService;
    importFile(): Promise<ImportResult | null>;
  };
  readonly gateways: Gateways;
  readonly certificates: CertificatesInForce;
}

/** Reloads each part separately: one that fails stays as it was. Never rejects. */
async function reloadAll(parts: ReloadedParts): Promise<Reloaded> {
  const { controlPlane, certificates, context } = parts;
  const imported = await controlPlane.importFile();
  const found = [imported?.ok === false ? imported.error.message : null];
  found.push(await controlPlane.operators.reload());
  for (const name of certificates.listeners)
    found.push(await certificates.reload(name, () => reloadCertificate(parts, name)));
  if (context.settings.media.process === 'elsewhere') found.push(await reloadElsewhere(parts));
  found.push(await context.tokenKeys.reload());
  const { settings, file_problem: problem } = listSettings(context);
  const changed = settings.filter((setting) => Object.hasOwn(setting, 'after_restart'));
  if (changed.length > 0)
    context.log.warn(
      { settings: changed.map(({ name }) => name) },
      'settings: changed; they take effect at a restart',
    );
  if (problem !== null) context.log.warn({ reason: problem }, 'settings: invalid; a restart would fail');
  const problems = found.filter((problem) => problem !== null);
  if (problems.length === 0) context.log.info({}, 'reloaded');
  else context.log.error({ problems }, 'reload: incomplete; each failed part stays as it was');
  return { imported, problems };
}

/** The certificate files are on the other machine, so only the fingerprints are known here. */
async function reloadElsewhere({ controlPlane, context: { log } }: ReloadedParts): Promise<string | null> {
  const { mediaProcesses } = controlPlane.calls;
  const reason = await mediaProcesses.reloadTls();
  const fingerprints = mediaProcesses.connections.map(({ certificate }) => certificate);
  if (reason === null)
    log.info({ listener: 'media', fingerprints }, 'certificates: in force at the media processes elsewhere');
  else
    log.error(
      { listener: 'media', fingerprints, reason },
      'certificate: not reloaded; the previous one stays in force',
    );
  return reason === null ? null : `media certificate: ${reason}`;
}

async function reloadCertificate(
  { controlPlane, gateways }: ReloadedParts,
  name: ListenerName,
): Promise<string | null> {
  if (name === 'ops') return null;
  if (name === 'media') return controlPlane.calls.mediaProcesses.reloadTls();
  await gateways.tlsListener(name).reloadTls();
  return null;
}

/** SIGUSR2. Never rejects. */
export async function recordUpgrade(
  audit: AuditLog,
  { log }: Pick<ServerContext, 'log'>,
  upgrade: UpgradeControl,
): Promise<void> {
  try {
    const begun = await audit.record(
      intentOf('signal', 'server.upgrade', {}),
      async () => upgrade.begin(false),
      (begun) => (begun.ok ? { result: 'ok' } : { result: 'refused', reason: begun.error }),
    );
    if (!begun.ok) log.error({ reason: begun.error }, 'not upgraded');
  } catch (error) {
    log.error({ reason: messageOf(error) }, 'not upgraded');
  }
}

function reloadOutcome({ imported, problems }: Reloaded): AuditOutcome {
  const outcome: AuditOutcome = imported === null ? { result: 'ok' } : importOutcome(imported);
  return problems.length === 0 ? outcome : { ...outcome, result: 'failed', reason: problems.join('; ') };
}

/** Also used by commands on the store of a stopped server. */
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

/** An unreadable registry counts as not empty: that is another fault. */
export function hasEntries(registry: Pick<ServerContext['registry'], 'isEmpty'>): boolean {
  try {
    return !registry.isEmpty();
  } catch {
    return true;
  }
}
