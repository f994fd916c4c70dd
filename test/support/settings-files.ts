/**
 * Writes the two files that list every setting from the schema: `config/default.json` and `docs/reference/settings.md`. A test
 * compares them.
 *
 *   node --import tsx test/support/settings-files.ts
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format } from 'prettier';
import { encodeSettings, settingKeys, loadSettings } from '../../src/server/config/settings.ts';
import { checkout } from './checkout.ts';

const introduction = `# Settings

For operators: every setting with its default.

Settings come from one JSON file (\`--config FILE\`; \`config/default.json\` shows the form), from the environment, which overrides the file, and from \`--set section.key=value\`, which overrides both. The variable of \`sleep.max_sessions\` is \`REVEILLE_SLEEP_MAX_SESSIONS\`, and so on. An unknown key, an unknown \`REVEILLE_\` variable or a bad value ends the start with an error that names it, and exit code 2. \`reveille config\` prints the settings in force in the running server, with secrets masked, their sources, the cause where another value than the configured one is in force, and what a restart would change. Without a running server, or with \`--set\`, it shows what a server started here would use.

In the environment and after \`--set\`, a list is comma separated, true and false may be written 1 and 0, and an empty text means nothing where the setting allows it. In an address, port 0 picks a free port, and IPv6 addresses are in brackets.

This file is generated from the schema by \`test/support/settings-files.ts\`.
`;

/** Texts by path from the root. */
export async function settingsFiles(): Promise<Map<string, string>> {
  const defaults = encodeSettings(loadSettings({ env: {} }));
  return new Map([
    ['config/default.json', await format(JSON.stringify(defaults), { parser: 'json', printWidth: 110 })],
    ['docs/reference/settings.md', await format(introduction + tables(defaults), { parser: 'markdown' })],
  ]);
}

function tables(defaults: Record<string, Record<string, unknown>>): string {
  return Object.entries(defaults)
    .map(([section, values]) => {
      const rows = settingKeys
        .filter((setting) => setting.section === section)
        .map(({ key, description }) => `| \`${key}\` | ${shown(values[key])} | ${description} |`);
      return `\n## ${section}\n\n| key | default | meaning |\n|---|---|---|\n${rows.join('\n')}\n`;
    })
    .join('');
}

function shown(value: unknown): string {
  return value === null ? 'nothing' : `\`${JSON.stringify(value)}\``;
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const [path, text] of await settingsFiles()) writeFileSync(new URL(path, checkout), text);
