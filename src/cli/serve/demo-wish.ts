/** Decides at a start if an empty store gets a demo registry. Source: running.md, Data. */
import type { DemoWish } from '../../server/bootstrap/unasked-changes.ts';
import { listenerNames, type Settings } from '../../server/config/settings-schema.ts';
import type { SettingsSources } from '../../server/config/settings.ts';
import { isLoopback } from '../../model/settings-values.ts';
import type { CommandContext } from '../shell/command-context.ts';

/** Null: an empty store stays empty. `isAsked`: by `--demo`. */
export function findDemoWish(
  { settings, settingsSources }: Pick<CommandContext, 'settings' | 'settingsSources'>,
  isAsked: boolean,
): DemoWish | null {
  if (isAsked) return 'asked';
  return isConfigured(settings, settingsSources) ? null : 'first-start';
}

/** A server that has been given a place, a registry, others or strangers must not invent a credential. */
function isConfigured(settings: Settings, { file, env, overrides = [] }: SettingsSources): boolean {
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
