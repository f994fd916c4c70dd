/** `reveille config`: the settings in force and where each comes from; secrets masked. */
import type { Command } from 'commander';
import { readTextFile } from '../../lib/text-file.ts';
import {
  describeSettings,
  settingKeys,
  type SettingKey,
  type SettingsSources,
} from '../../server/config/settings.ts';
import { addExamples, type CommandContext, inLocalContext } from '../shell/command-context.ts';
import { alignColumns } from '../shell/output.ts';

export function addConfigCommand(program: Command): void {
  const command = program
    .command('config')
    .description('Print the settings in force and where each comes from; secrets are masked.')
    .action(inLocalContext(printSettings));
  addExamples(
    command,
    ['config', 'what a server started here would use'],
    ['config --config production.json --json', 'the same of a settings file, for machines'],
    ['config --set sleep.listen=0.0.0.0:8081', 'what a flag would change'],
  );
}

function printSettings({ settings, settingsSources, output }: CommandContext): void {
  const shown = describeSettings(settings);
  const originOf = settingOrigins(settingsSources);
  const rows = settingKeys.map((key) => {
    const value = JSON.stringify(shown[key.section]?.[key.key] ?? null);
    return [key.name, value, originOf(key)] as const;
  });
  const origins = Object.fromEntries(rows.map(([name, , origin]) => [name, origin]));
  output.answer(
    { settings: shown, origins },
    alignColumns(rows.map((row) => [row[0], row[1], `(${row[2]})`])),
  );
}

type Origin = 'default' | 'file' | 'environment' | 'flag';

/** The settings are known to be valid. */
function settingOrigins({ file, env, overrides = [] }: SettingsSources): (key: SettingKey) => Origin {
  const sections =
    file === undefined ? {} : (JSON.parse(readTextFile(file)) as Record<string, object | undefined>);
  return ({ section, key, name, variable }) => {
    if (overrides.some((override) => override.startsWith(`${name}=`))) return 'flag';
    if (env[variable] !== undefined) return 'environment';
    return Object.hasOwn(sections[section] ?? {}, key) ? 'file' : 'default';
  };
}
