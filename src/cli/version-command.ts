/** `reveille version`. */
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { addExamples, contextOf } from './command-context.ts';

export function addVersionCommand(program: Command): void {
  const command = program
    .command('version')
    .description('Print the versions of Reveille and of what it runs on.')
    .action((_options: object, self: Command) => {
      const { output } = contextOf(self);
      const versions = { reveille: readVersion(), node: process.versions.node, platform: platform() };
      output.answer(versions, `reveille ${versions.reveille} (node ${versions.node}, ${versions.platform})`);
    });
  addExamples(command, ['version', 'for people'], ['version --json', 'for machines']);
}

/** Of the package this file belongs to, in a checkout and in a build. */
export function readVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

function platform(): string {
  return `${process.platform}-${process.arch}`;
}
