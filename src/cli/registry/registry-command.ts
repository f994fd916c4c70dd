/** `reveille registry …`: who may call, and which devices exist, as files and lists. Source: running.md, Data. */
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Argument, Option, type Command } from 'commander';
import type { RegistryPage } from '../../gateways/admin/registry-lists.ts';
import { exportRegistry, RegistryFrame } from '../../storage/registry/registry-export.ts';
import { kindNames, listNames, type KindName } from '../../storage/registry/registry-kinds.ts';
import type { RegistryForm } from '../../storage/registry/registry-text.ts';
import type { ChosenProfile } from '../profile/profiles.ts';
import { usageError } from '../shell/command-error.ts';
import { profileClient } from '../admin/running-server.ts';
import { addExamples, type CommandContext, inContext } from '../shell/command-context.ts';
import { wholeNumberOption } from '../shell/option-values.ts';
import { describeCounts, listEntries, lookIntoRegistry } from '../admin/local-registry.ts';
import { addImportCommand } from './registry-import-command.ts';

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
  addImportCommand(registry);
  addExport(registry);
  addList(registry);
}

const pageMax = 10_000;

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
    .action(inContext(exportRegistryFile));
  addExamples(
    command,
    ['registry export --with-secrets --output registry.json', 'all of it, for an import elsewhere'],
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
    .option('--after <id>', 'continue after this id; for webhooks, after this many')
    .action(inContext(listEntries));
  addExamples(
    command,
    ['registry list', 'how many there are'],
    ['registry list devices --limit 100 --after DOOR-0100', 'the next hundred'],
    ['registry list credentials --json', 'for machines'],
  );
}

interface ExportOptions {
  readonly withSecrets?: boolean;
  readonly format: 'json' | 'ndjson';
  readonly output?: string;
}

async function exportRegistryFile(context: CommandContext, options: ExportOptions): Promise<void> {
  const { output: file, withSecrets = false } = options;
  const form = options.format === 'json' ? 'document' : 'ndjson';
  const write = async (
    text: Iterable<string> | AsyncIterable<string>,
    counts: () => Counts,
  ): Promise<void> => {
    const pieces = Readable.from(text);
    if (file === undefined) return pipeline(pieces, process.stdout, { end: false });
    await writeWhole(pieces, file);
    const masked = withSecrets ? '' : '; secrets are masked: it cannot be imported';
    context.output.answer(
      { file, with_secrets: withSecrets, counts: counts() },
      `wrote ${describeCounts(counts())} to ${file}${masked}`,
    );
  };
  const { profile } = context;
  if (profile === null)
    return lookIntoRegistry(context.dataDirectory, (registry, tables) =>
      write(exportRegistry(tables, { form, withSecrets }), () => registry.counts()),
    );
  if (withSecrets)
    throw usageError(
      'a server gives no secrets away: --with-secrets reads the store on its own machine',
      'run it there, or leave --with-secrets out',
    );
  const counts: Counts = { application: 0, product: 0, credential: 0, device: 0, webhook: 0, bridge: 0 };
  await write(exportPages(profile, form, counts), () => counts);
}

type Counts = Record<KindName, number>;

/** Page by page, so that it is not one moment of the registry as that of the store is. `counts`: added to. */
async function* exportPages(
  profile: ChosenProfile,
  form: RegistryForm,
  counts: Counts,
): AsyncGenerator<string, void, undefined> {
  const client = profileClient(profile);
  const frame = new RegistryFrame(form);
  for (const kind of kindNames)
    for (let after: string | null = ''; after !== null;) {
      const query = new URLSearchParams({ kind, limit: '1000', ...(after !== '' && { after }) });
      const page: RegistryPage = await client.ask<RegistryPage>('/v1/registry/list', query);
      counts[kind] += page.entries.length;
      yield page.entries.map((json) => frame.entry(kind, json)).join('');
      after = page.next;
    }
  yield frame.end();
}

async function writeWhole(pieces: Readable, file: string): Promise<void> {
  const own = `${file}.${process.pid}`;
  try {
    await pipeline(pieces, createWriteStream(own, { flags: 'wx', mode: 0o600 }));
    await rename(own, file);
  } catch (error) {
    await rm(own, { force: true });
    throw error;
  }
}
