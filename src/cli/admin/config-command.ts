/** `reveille config`: prints the settings in force that differ from their defaults, or all, each with its source; secrets masked. */
import type { Command } from 'commander';
import { listSettings, type SettingJson, type SettingsJson } from '../../server/config/settings-route.ts';
import { newCommand, type CommandContext, inContext } from '../shell/command-context.ts';
import { alignColumns } from '../shell/output.ts';
import { absenceOn, findRunningServer, opsClient, opsClientOf } from './running-server.ts';

export function addConfigCommand(program: Command): void {
  newCommand(
    program,
    'config',
    'Print the settings in force that differ from their defaults, in the running server or else in a server started here: ' +
      'the source of each, what lowered it, and what waits for a restart. Secrets are masked.',
    '',
    ['--set sleep.listen=0.0.0.0:8081', 'the effect of a flag; no running server is asked'],
  )
    .option('--all', 'include the defaults; --json always does')
    .action(inContext(printSettings));
}

interface ConfigOptions {
  readonly all?: boolean;
}

async function printSettings(context: CommandContext, options: ConfigOptions): Promise<void> {
  const { profile, output } = context;
  if (profile === null) return printHere(context, options);
  const found = await opsClient(context).ask<SettingsJson>('/v1/settings');
  const heading = `in force in the server of the profile ${profile.name}`;
  output.answer({ server: { ops: profile.ops }, ...jsonOf(found) }, textOf(heading, found, options));
}

async function printHere(context: CommandContext, options: ConfigOptions): Promise<void> {
  const { settings, configured, dataDirectory, output } = context;
  const isTrial = context.settingsSources.overrides?.some((given) => !given.startsWith('data.dir=')) === true;
  const running = isTrial ? null : findRunningServer(dataDirectory);
  const found =
    running === null
      ? listSettings({ settings, configured })
      : await opsClientOf(running, dataDirectory).ask<SettingsJson>('/v1/settings');
  const server = running === null ? null : { pid: running.pid };
  const heading =
    server === null
      ? `${isTrial ? 'no running server is asked' : absenceOn(dataDirectory)}: a server started here would use`
      : `in force in the running server (process ${server.pid})`;
  output.answer({ server, ...jsonOf(found) }, textOf(heading, found, options));
}

type Values = Record<string, Record<string, unknown>>;

/** `settings` has the nested form of a settings file. */
function jsonOf({ settings: listed, file, file_problem: problem }: SettingsJson): object {
  const settings: Values = {};
  for (const setting of listed) {
    const [section = '', key = ''] = setting.name.split('.');
    (settings[section] ??= {})[key] = isOther(setting) ? setting.configured : setting.value;
  }
  const named = (of: readonly SettingJson[], shown: (setting: SettingJson) => unknown): object =>
    Object.fromEntries(of.map((setting) => [setting.name, shown(setting)]));
  return {
    settings,
    origins: named(listed, ({ origin }) => origin),
    in_force: named(listed.filter(isOther), ({ value, reason }) => ({ value, reason })),
    after_restart: named(listed.filter(isChanging), (setting) => setting.after_restart),
    file,
    file_problem: problem,
  };
}

function textOf(heading: string, found: SettingsJson, { all = false }: ConfigOptions): string {
  const shown = all ? found.settings : found.settings.filter((each) => !isDefault(each));
  const left = found.settings.length - shown.length;
  const problem = found.file_problem;
  const notices = problem === null ? [] : [`a restart would fail: ${problem}`];
  const defaults = left === 0 ? [] : [`${left} settings have their defaults: --all shows them`];
  return [heading, ...(shown.length === 0 ? [] : [tableOf(shown)]), ...defaults, ...notices].join('\n');
}

function tableOf(settings: readonly SettingJson[]): string {
  return alignColumns(
    settings.map((setting) => [
      setting.name,
      JSON.stringify(setting.value),
      `(${setting.origin})`,
      [
        ...(isOther(setting) ? [`configured ${JSON.stringify(setting.configured)}: ${setting.reason}`] : []),
        ...(isChanging(setting) ? [`${JSON.stringify(setting.after_restart)} after a restart`] : []),
      ].join('; '),
    ]),
  );
}

function isDefault(setting: SettingJson): boolean {
  return !setting.changed && !isOther(setting) && !isChanging(setting);
}

function isOther(setting: SettingJson): boolean {
  return Object.hasOwn(setting, 'configured');
}

function isChanging(setting: SettingJson): boolean {
  return Object.hasOwn(setting, 'after_restart');
}
