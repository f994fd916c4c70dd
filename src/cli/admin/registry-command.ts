/** `reveille registry …`: who may call, and which devices exist, as files and lists. Source: running.md, Data. */
import { Argument, Option, type Command } from 'commander';
import { listNames } from '../../storage/registry/registry-kinds.ts';
import { addExamples, contextOf } from '../shell/command-context.ts';
import { wholeNumberOption } from '../shell/option-values.ts';
import { exportRegistryFile, type ExportOptions } from './registry-export-action.ts';
import { importRegistryFile } from './registry-import-action.ts';
import { listEntries, type ListOptions } from './registry-list-action.ts';

export function addRegistryCommand(program: Command): void {
  const registry = program
    .command('registry')
    .description(
      'Import, export and list applications, credentials, products, devices, webhooks and bridges.',
    );
  addExamples(
    registry,
    ['registry import registry.json', 'add and replace entries by id'],
    ['registry list devices --limit 5', 'look at some of them'],
  );
  addImport(registry);
  addExport(registry);
  addList(registry);
}

const pageMax = 10_000;

function addImport(registry: Command): void {
  const command = registry
    .command('import')
    .description('Import a registry file, JSON or NDJSON: one transaction, all of it or nothing.')
    .argument('<file>', 'a registry document, or NDJSON with one entry a line')
    .option('--replace', 'afterwards the store holds what the file holds, and nothing else')
    .action((file: string, options: { replace?: boolean }, self: Command) =>
      importRegistryFile(contextOf(self), file, options.replace === true),
    );
  addExamples(
    command,
    ['registry import registry.json', 'into the running server, or into the store at rest'],
    ['registry import devices.ndjson', 'a million devices, one a line'],
    ['registry import registry.json --replace', 'what the file does not have is deleted'],
  );
}

function addExport(registry: Command): void {
  const command = registry
    .command('export')
    .description('Write the registry as a file that an import reads; secrets are masked.')
    .option('--with-secrets', 'with secrets: what only such a file can restore')
    .addOption(
      new Option('--format <form>', 'one document, or one entry a line')
        .choices(['json', 'ndjson'])
        .default('json'),
    )
    .option('--output <file>', 'a file, readable by its owner alone, instead of standard output')
    .action((options: ExportOptions, self: Command) => exportRegistryFile(contextOf(self), options));
  addExamples(
    command,
    ['registry export --with-secrets --output backup.json', 'a backup'],
    ['registry export --format ndjson | grep doorbell', 'to look at, secrets masked'],
  );
}

function addList(registry: Command): void {
  const kinds = new Argument('[kind]', 'what to list; how many there are of each when left out');
  const command = registry
    .command('list')
    .description('List entries in the order of their ids; secrets are masked.')
    .addArgument(kinds.choices(Object.values(listNames)))
    .option('--limit <count>', `at most so many, up to ${pageMax}`, wholeNumberOption(1, pageMax), 50)
    .option('--after <id>', 'go on behind this id')
    .action((list: string | undefined, options: ListOptions, self: Command) =>
      listEntries(contextOf(self), list, options),
    );
  addExamples(
    command,
    ['registry list', 'how many there are'],
    ['registry list devices --limit 100 --after DOOR-0100', 'the next hundred'],
    ['registry list credentials --json', 'for machines'],
  );
}
