/** `reveille registry …`: imports, exports and lists registry entries. Source: running.md, Data. */
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Argument, Option, type Command } from 'commander';
import { listNames } from '../../storage/registry/registry-kinds.ts';
import { newCommand, type CommandContext, inContext, inLocalContext } from '../shell/command-context.ts';
import { withRegistry } from '../admin/local-registry.ts';
import { CommandError } from '../shell/command-error.ts';
import { causeOf } from '../../storage/lmdb/store-fault.ts';
import { addPageOptions, listEntries } from './entry-commands.ts';
import { describeCounts } from './import-view.ts';
import { addImportCommand } from './registry-import-command.ts';

export function addRegistryCommand(program: Command): void {
  const registry = program
    .command('registry')
    .description(
      'Import, export and list applications, credentials, products, devices, webhooks and bridges.',
    );
  addImportCommand(registry);
  newCommand(
    registry,
    'export',
    'Write the registry of this machine as a file for an import; secrets are masked.',
    '--with-secrets --output registry.json',
  )
    .option('--with-secrets', 'include secrets; a masked file cannot be imported')
    .addOption(
      new Option('--format <form>', 'one document, or one entry per line')
        .choices(['json', 'ndjson'])
        .default('json'),
    )
    .option('--output <file>', 'a file with mode 0600, instead of standard output')
    .action(inLocalContext(exportRegistryFile));
  const kinds = new Argument('[kind]', 'the kind of entries to list (default: the number of each kind)');
  const list = newCommand(
    registry,
    'list',
    'List entries in the order of their ids; secrets are masked.',
    'devices --limit 100 --after DOOR-0100',
  );
  addPageOptions(list.addArgument(kinds.choices(Object.values(listNames)))).action(inContext(listEntries));
}

interface ExportOptions {
  readonly withSecrets?: boolean;
  readonly format: 'json' | 'ndjson';
  readonly output?: string;
}

async function exportRegistryFile(
  { dataDirectory, output }: CommandContext,
  { output: file, withSecrets = false, format }: ExportOptions,
): Promise<void> {
  const form = format === 'json' ? 'document' : 'ndjson';
  await withRegistry(dataDirectory, async (registry) => {
    const pieces = Readable.from(registry.export({ form, withSecrets }), { objectMode: false });
    if (file === undefined) return pipeline(pieces, process.stdout, { end: false });
    await writeWhole(pieces, file);
    const counts = await registry.counts();
    const masked = withSecrets ? '' : '; secrets are masked: it cannot be imported';
    output.answer(
      { file, with_secrets: withSecrets, counts },
      `wrote ${describeCounts(counts)} to ${file}${masked}`,
    );
  });
}

async function writeWhole(pieces: Readable, file: string): Promise<void> {
  const own = `${file}.${process.pid}`;
  try {
    await pipeline(pieces, createWriteStream(own, { flags: 'wx', mode: 0o600 }));
    await rename(own, file);
  } catch (error) {
    await rm(own, { force: true });
    const cause = causeOf(error);
    throw cause === null ? error : new CommandError(`${file} cannot be written: ${cause}`);
  }
}
