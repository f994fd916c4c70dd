/**
 * SIGHUP: the registry file, operators' tokens, certificates and the keys of call tokens are read again. Each part is
 * reloaded by itself: one that fails leaves in force what was, and the others are reloaded all the same.
 */
import type { CertificatesInForce } from '../config/certificates-in-force.ts';
import { settingsAwaitingRestart } from '../config/settings-route.ts';
import type { ListenerName } from '../config/settings-schema.ts';
import type { ControlPlane } from './control-plane.ts';
import type { Gateways } from './gateways.ts';
import type { ServerContext } from './server-context.ts';
import type { Reloaded } from './unasked-changes.ts';

interface ReloadedParts {
  readonly context: Pick<ServerContext, 'settings' | 'configured' | 'log' | 'tokenKeys'>;
  readonly controlPlane: ControlPlane;
  readonly gateways: Gateways;
  readonly certificates: CertificatesInForce;
}

/** Never rejects. */
export async function reloadAll(parts: ReloadedParts): Promise<Reloaded> {
  const { controlPlane, certificates, context } = parts;
  const imported = await controlPlane.importFile();
  const found = [imported?.ok === false ? imported.error.message : null];
  found.push(await controlPlane.operators.reload());
  for (const name of certificates.listeners)
    found.push(await certificates.reload(name, () => reloadCertificate(parts, name)));
  if (context.settings.media.process === 'elsewhere') found.push(await reloadElsewhere(parts));
  found.push(await context.tokenKeys.reload());
  const { names, problem } = settingsAwaitingRestart(context.configured);
  if (names.length > 0) context.log.warn({ settings: names }, 'changed settings take effect at a restart');
  if (problem !== null)
    context.log.warn({ reason: problem }, 'a restart would fail: the settings are not in order');
  const problems = found.filter((problem) => problem !== null);
  if (problems.length === 0) context.log.info({}, 'reloaded');
  else context.log.error({ problems }, 'reloaded in part; each part that failed stays as it was');
  return { imported, problems };
}

/** The files are on the other machine, so of its certificates only the fingerprints are known. */
async function reloadElsewhere({ controlPlane, context: { log } }: ReloadedParts): Promise<string | null> {
  const { mediaProcesses } = controlPlane.calls;
  const reason = await mediaProcesses.reloadTls();
  const fingerprints = mediaProcesses.connections.map(({ certificate }) => certificate);
  if (reason === null) log.info({ listener: 'media', fingerprints }, 'certificates in force elsewhere');
  else
    log.error(
      { listener: 'media', fingerprints, reason },
      'certificate not reloaded; the one in force stays',
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
