/** `GET /v1/settings` on the ops listener: the settings in force, secrets masked, as `reveille config` shows them. */
import { z } from 'zod';
import { readRoute, type AdminRoute } from '../../gateways/ops/admin-route.ts';
import { describeSettings, loadSettings, settingKeys } from './settings.ts';
import type { Settings } from './settings-schema.ts';

export interface SettingJson {
  /** `section.key`. */
  readonly name: string;
  readonly value: unknown;
  /** Its default has been changed. */
  readonly changed: boolean;
  readonly description: string;
}

export interface SettingsJson {
  readonly settings: readonly SettingJson[];
}

export function settingsRoute(settings: Settings): AdminRoute {
  return readRoute('/v1/settings', z.strictObject({}), async () => {
    return { status: 200, body: listSettings(settings) };
  });
}

function listSettings(settings: Settings): SettingsJson {
  const inForce = describeSettings(settings);
  const defaults = describeSettings(loadSettings({ env: {} }));
  const listed = settingKeys.map(({ section, key, name, description }): SettingJson => {
    const value = inForce[section]?.[key];
    const changed = JSON.stringify(value) !== JSON.stringify(defaults[section]?.[key]);
    return { name, value, changed, description };
  });
  return { settings: listed };
}
