/**
 * Settings for operators: each with its value in force, its source, the reason if it differs from the configured value, and the value
 * after a restart. `GET /v1/settings` on the ops listener, and `reveille config`.
 */
import { statSync } from 'node:fs';
import { z } from 'zod';
import { messageOf } from '../../lib/result.ts';
import { readRoute, type AdminRoute } from '../../gateways/ops/admin-route.ts';
import { findInForce, surroundings } from './settings-in-force.ts';
import {
  encodeSettings,
  loadConfigured,
  loadSettings,
  maskSetting,
  settingKeys,
  type ConfiguredSettings,
} from './settings.ts';
import type { Settings } from './settings-schema.ts';

/** `settings`: from the start of the server. */
export interface SettingsSeen {
  readonly settings: Settings;
  readonly configured: ConfiguredSettings;
  readonly sharers?: () => number;
}

export function settingsRoute(seen: SettingsSeen): AdminRoute {
  return readRoute('/v1/settings', z.strictObject({}), async () => listSettings(seen));
}

export type SettingsJson = ReturnType<typeof listSettings>;
export type SettingJson = SettingsJson['settings'][number];

/** Secrets are masked in every value. */
export function listSettings({ settings, configured, sharers = () => 1 }: SettingsSeen) {
  const inForce = findInForce(settings, surroundings(sharers()));
  const defaults = encodeSettings(loadSettings({ env: {} }));
  const given = encodeSettings(configured.settings);
  const started = encodeSettings(settings);
  const { next, problem } = readAgain(configured);
  const listed = settingKeys.map((setting) => {
    const { section, key, name, description } = setting;
    const [ofDefault, ofGiven, ofStart, ofNext] = [defaults, given, started, next].map(
      (values) => values[section]?.[key],
    );
    const bound = inForce.get(name) ?? { value: ofStart, reason: startReason };
    const isOther = !isSame(bound.value, ofGiven);
    return {
      // `section.key`.
      name,
      // In force.
      value: maskSetting(setting, bound.value),
      origin: configured.origins.get(name) ?? ('default' as const),
      // True: differs from the default.
      changed: !isSame(ofGiven, ofDefault),
      // Present if another value is in force.
      ...(isOther && { configured: maskSetting(setting, ofGiven), reason: bound.reason }),
      // Present if its source has changed since the start.
      ...(!isSame(ofNext, ofGiven) && { after_restart: maskSetting(setting, ofNext) }),
      description,
    };
  });
  // The reason why a restart would fail with the current file; null: it would not.
  return { settings: listed, file: configured.file, file_problem: problem };
}

type Values = ReturnType<typeof encodeSettings>;

/** Settings of a start now. A pipe cannot be read twice, so its settings are those of the start. */
function readAgain({ settings, sources, file }: ConfiguredSettings): {
  readonly next: Values;
  readonly problem: string | null;
} {
  const given = encodeSettings(settings);
  try {
    if (file === null || !statSync(file).isFile()) return { next: given, problem: null };
    return { next: encodeSettings(loadConfigured({ ...sources, file }).settings), problem: null };
  } catch (error) {
    return { next: given, problem: messageOf(error) };
  }
}

/** Reason for listener ports, the only settings that a start changes. */
const startReason = 'the server chose the port at its start';

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
