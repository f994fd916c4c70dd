import assert from 'node:assert/strict';
import { loadSettings, SettingsError, type SettingsSources } from '../../src/server/config/settings.ts';

/** Problems, one per line; fails when there are none. */
export function problemsOf(sources: Partial<SettingsSources>): readonly string[] {
  try {
    loadSettings({ env: {}, ...sources });
  } catch (error) {
    assert.ok(error instanceof SettingsError);
    return error.problems;
  }
  return assert.fail('the settings were taken');
}
