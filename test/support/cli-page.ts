/**
 * `docs/cli.md`: the help of every command, as the program prints it. A test compares it with what is there; this writes it
 * anew:
 *
 *   node --import tsx test/support/cli-page.ts
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { format } from 'prettier';
import { buildProgram } from '../../src/program.ts';
import { checkout } from './checkout.ts';

const fence = '```';
const page = new URL('docs/cli.md', checkout);

const introduction = `# The command line

For operators and backend developers. This page has every command with its arguments, options and examples, as
\`reveille COMMAND --help\` prints them. From a checkout, \`reveille\` is \`npm run -s reveille --\`.

The options of \`reveille\` itself may follow any command. What is refused, and every remark, goes to standard error; with \`--json\`
the answer is JSON. Exit codes: 0 done, 1 failed, 2 asked for in a way that cannot be. [troubleshooting.md](troubleshooting.md)
explains the errors.

This file is generated from the program by \`test/support/cli-page.ts\`.
`;

export function readCliPage(): string {
  return readFileSync(page, 'utf8');
}

export async function makeCliPage(): Promise<string> {
  const sections = walk(await buildProgram(), []).map(
    ([words, help]) => `\n## ${words}\n\n${fence}text\n${help.trim()}\n${fence}\n`,
  );
  return format(introduction + sections.join(''), { parser: 'markdown' });
}

/** Each command's words and help, in the order of the program's own help. */
function walk(command: Command, before: readonly string[]): [words: string, help: string][] {
  const words = [...before, command.name()];
  const own: [string, string] = [words.join(' '), helpOf(command)];
  const children = command.commands.filter((child) => child.name() !== 'help');
  return [own, ...children.flatMap((child) => walk(child, words))];
}

/** Of its own options; those of the program are told once. */
function helpOf(command: Command): string {
  let help = '';
  command
    .configureOutput({ writeOut: (piece) => (help += piece), getOutHelpWidth: () => 100 })
    .configureHelp({
      showGlobalOptions: false,
      visibleOptions: ({ options }) => options.filter(({ hidden }) => !hidden),
    })
    .outputHelp();
  return help;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(page, await makeCliPage());
