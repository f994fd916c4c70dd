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
  type SettingOrigin,
} from './settings.ts';
import type { Settings } from './settings-schema.ts';

/** Secrets are masked in every value. */
export interface SettingJson {
  /** `section.key`. */
  readonly name: string;
  /** Value in force. */
  readonly value: unknown;
  readonly origin: SettingOrigin;
  /** True: differs from the default. */
  readonly changed: boolean;
  /** Configured value, present if another one is in force, with the reason. */
  readonly configured?: unknown;
  readonly reason?: string;
  /** Value after a restart, present if its source has changed since the start. */
  readonly after_restart?: unknown;
  readonly description: string;
}

export interface SettingsJson {
  readonly settings: readonly SettingJson[];
  /** Absolute path of the settings file; null: none. */
  readonly file: string | null;
  /** The reason why a restart would fail with the current file; null: it would not. */
  readonly file_problem: string | null;
}

/** `settings`: from the start of the server. */
export interface SettingsSeen {
  readonly settings: Settings;
  readonly configured: ConfiguredSettings;
  readonly sharers?: () => number;
}

export function settingsRoute(seen: SettingsSeen): AdminRoute {
  return readRoute('/v1/settings', z.strictObject({}), async () => listSettings(seen));
}

export function listSettings({ settings, configured, sharers = () => 1 }: SettingsSeen): SettingsJson {
  const inForce = findInForce(settings, surroundings(sharers()));
  const defaults = encodeSettings(loadSettings({ env: {} }));
  const given = encodeSettings(configured.settings);
  const started = encodeSettings(settings);
  const { next, problem } = readAgain(configured);
  const listed = settingKeys.map((setting): SettingJson => {
    const { section, key, name, description } = setting;
    const [ofDefault, ofGiven, ofStart, ofNext] = [defaults, given, started, next].map(
      (values) => values[section]?.[key],
    );
    const bound = inForce.get(name) ?? { value: ofStart, reason: startReason };
    const isOther = !isSame(bound.value, ofGiven);
    return {
      name,
      value: maskSetting(setting, bound.value),
      origin: configured.origins.get(name) ?? 'default',
      changed: !isSame(ofGiven, ofDefault),
      ...(isOther && { configured: maskSetting(setting, ofGiven), reason: bound.reason }),
      ...(!isSame(ofNext, ofGiven) && { after_restart: maskSetting(setting, ofNext) }),
      description,
    };
  });
  return { settings: listed, file: configured.file, file_problem: problem };
}

/** Names of settings that a restart would change, and the reason if a restart would fail. */
export function settingsAwaitingRestart(configured: ConfiguredSettings): {
  readonly names: readonly string[];
  readonly problem: string | null;
} {
  const given = encodeSettings(configured.settings);
  const { next, problem } = readAgain(configured);
  const changed = settingKeys.filter(
    ({ section, key }) => !isSame(next[section]?.[key], given[section]?.[key]),
  );
  return { names: changed.map(({ name }) => name), problem };
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
