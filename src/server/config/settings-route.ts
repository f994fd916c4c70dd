/**
 * The settings of a server as operators see them: each with its value in force, its source, why another value than the
 * configured one is in force, and what a restart would change. `GET /v1/settings` on the ops listener, and `reveille config`.
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
  /** In force. */
  readonly value: unknown;
  readonly origin: SettingOrigin;
  /** Its default has been changed. */
  readonly changed: boolean;
  /** The value that it was given, where another one is in force, and why. */
  readonly configured?: unknown;
  readonly reason?: string;
  /** The value that it would have after a restart, where its source has changed since the start. */
  readonly after_restart?: unknown;
  readonly description: string;
}

export interface SettingsJson {
  readonly settings: readonly SettingJson[];
  /** The settings file, absolute; null: none. */
  readonly file: string | null;
  /** Why the file as it is now would end a restart; null: it would not. */
  readonly file_problem: string | null;
}

/** `settings`: those that the server was started with. */
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

/** Names of settings that a restart would change, and why a restart would fail. */
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

/** The settings that a start now would have. A pipe cannot be read twice, so its settings are those of the start. */
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

/** The settings of a start differ from those given in the ports of listeners only. */
const startReason = 'the address that the server got at its start';

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
