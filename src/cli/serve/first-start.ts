/**
 * The first start of a server: an empty store gets demo entries if nothing is configured or with `--demo`; otherwise it stays
 * empty. Source: running.md, Data.
 */
import { join } from 'node:path';
import type { Log } from '../../lib/log.ts';
import { isLoopback } from '../../lib/connections/listen-address.ts';
import { listenerNames, type Settings } from '../../server/config/settings-schema.ts';
import type { SettingsSources } from '../../server/config/settings.ts';
import { hasStore } from '../../storage/lmdb/store-access.ts';
import { withRegistry } from '../admin/local-registry.ts';
import {
  demoEntries,
  firstCommands,
  secretLines,
  seedStore,
  type FirstSecrets,
} from '../init/first-entries.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { reveilleCommand, usageError } from '../shell/command-error.ts';

/** Resolves to the secrets of the created entries, before the server opens the store. `isAsked`: `--demo` was given. */
export async function seedFirstStart(
  { clock, dataDirectory, settings, settingsSources }: CommandContext,
  isAsked: boolean,
  log: Log,
): Promise<FirstSecrets | null> {
  if (!isAsked && isConfigured(settings, settingsSources)) return null;
  if (settings.registry.file !== null || settings.cluster.nats_url !== null)
    throw usageError(
      '--demo needs its own registry, but this one comes from registry.file or from other nodes',
      'omit --demo',
    );
  if (!hasStore(dataDirectory) || (await isEmpty(dataDirectory)))
    return seedStore({ clock, dataDirectory }, demoEntries);
  if (isAsked) log.warn({}, '--demo adds nothing: the registry is not empty');
  return null;
}

function isEmpty(dataDirectory: string): Promise<boolean> {
  return withRegistry(dataDirectory, async (registry) =>
    Object.values(await registry.counts()).every((count) => count === 0),
  );
}

/** A server with configured addresses, a registry, a cluster or other settings must not invent a credential. */
export function isConfigured(settings: Settings, { file, env, overrides = [] }: SettingsSources): boolean {
  const { cluster, media, registry } = settings;
  const addresses = [...listenerNames.map((name) => settings[name].listen), media.link_listen];
  return (
    file !== undefined ||
    env['REVEILLE_DATA_DIR'] !== undefined ||
    overrides.some((override) => override.startsWith('data.dir=')) ||
    registry.file !== null ||
    cluster.nats_url !== null ||
    addresses.some((address) => address !== null && !isLoopback(address))
  );
}

/** Contains secrets, so it goes to standard error and never to the log. `consoleUrl`: null if there is no console. */
export function firstStartNotice(
  secrets: FirstSecrets,
  dataDirectory: string,
  consoleUrl: string | null,
): string {
  const [first = ''] = demoEntries.devices;
  const [simulate = '', wake = ''] = firstCommands(demoEntries);
  return `
The store was empty: here is a demo application to play with. Its secrets are shown once.

${secretLines(secrets).replaceAll(/^/gm, '  ')}

They are kept in ${dataDirectory}. Next, in a second terminal, let the devices live: they sign in, and sleep:
  ${simulate}
and in a third one, wake one of them, and see what happened to it:
  ${wake}
  ${reveilleCommand(`status ${first}`)}
${consoleUrl === null ? '' : `Look on in a browser, and log in with the text of ${join(dataDirectory, 'ops.token')}:\n  ${consoleUrl}\n`}
`;
}
