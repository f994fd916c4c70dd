/** `reveille version`. */
import type { Command } from 'commander';
import { readVersion } from '../../lib/package-version.ts';
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

function platform(): string {
  return `${process.platform}-${process.arch}`;
}
