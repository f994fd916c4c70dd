/**
 * Writes `docs/reference/cli.md`: the help of every command, as the program prints it. A test compares the two.
 *
 *   node --import tsx test/support/cli-page.ts
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Command, Option } from 'commander';
import { format } from 'prettier';
import { buildProgram } from '../../src/program.ts';
import { checkout } from './checkout.ts';

const fence = '```';
const page = new URL('docs/reference/cli.md', checkout);

const introduction = `# The command line

Every command as \`reveille COMMAND --help\` prints it; the options of many commands are in the first table only. From a checkout,
\`reveille\` is \`npm run -s reveille --\`.

The options of \`reveille\` itself may follow any command. With \`--json\` the answer is JSON. Refusals and remarks go to standard
error. Exit codes: 0 done, 1 failed, 2 wrong usage. [troubleshooting.md](troubleshooting.md) explains the errors.

This file is generated from the program by \`test/support/cli-page.ts\`.
`;

export function readCliPage(): string {
  return readFileSync(page, 'utf8');
}

/** An option that at least this many commands share is described once. */
const sharedCommandsMin = 6;

export async function makeCliPage(): Promise<string> {
  const program = await buildProgram();
  const commands = walk(program, []);
  const shared = sharedOptions(commands.map(([, command]) => command));
  const sections = commands.map(([words, command]) => `\n## ${words}\n\n${sectionOf(command, shared)}\n`);
  return format(introduction + optionSections(program, shared) + sections.join(''), { parser: 'markdown' });
}

function walk(command: Command, before: readonly string[]): [words: string, command: Command][] {
  const words = [...before, command.name()];
  const children = command.commands.filter((child) => child.name() !== 'help');
  return [[words.join(' '), command], ...children.flatMap((child) => walk(child, words))];
}

/** Descriptions, by flags, of options that several commands share. */
function sharedOptions(commands: readonly Command[]): ReadonlyMap<string, string> {
  const all = commands.flatMap(({ options }) => options.filter(({ hidden }) => !hidden));
  const isOften = (option: Option): boolean =>
    all.filter((other) => isAlike(option, other)).length >= sharedCommandsMin;
  return new Map(all.filter(isOften).map(({ flags, description }) => [flags, description]));
}

function isAlike(option: Option, other: Option): boolean {
  return option.flags === other.flags && option.description === other.description;
}

function optionSections({ options }: Command, shared: ReadonlyMap<string, string>): string {
  const ofAll = options.map(({ flags, description }) => [flags, description] as const);
  return `\n## Options of all commands\n\n${tableOf(ofAll)}\n## Options of several commands\n\n${tableOf(shared)}`;
}

function tableOf(options: Iterable<readonly [flags: string, description: string]>): string {
  const rows = Array.from(options, ([flags, description]) => `| \`${flags}\` | ${description} |\n`);
  return `| option | |\n| --- | --- |\n${rows.join('')}`;
}

function sectionOf(command: Command, shared: ReadonlyMap<string, string>): string {
  const isGroup = command.parent !== null && command.commands.length > 0;
  return isGroup ? command.description() : `${fence}text\n${helpOf(command, shared)}\n${fence}`;
}

/** Help text without the options that the page describes once. */
function helpOf(command: Command, shared: ReadonlyMap<string, string>): string {
  let help = '';
  const isShared = ({ flags, description }: Option): boolean => shared.get(flags) === description;
  command
    .configureOutput({ writeOut: (piece) => (help += piece), getOutHelpWidth: () => 100 })
    .configureHelp({
      showGlobalOptions: false,
      visibleCommands: () => [],
      visibleOptions: ({ options }) => options.filter((option) => !option.hidden && !isShared(option)),
    })
    .outputHelp();
  const names = command.options.filter(isShared).map(({ long }) => long);
  return names.length === 0 ? help.trim() : `${help.trim()}\n\nAlso: ${names.join(' ')}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(page, await makeCliPage());
