/** Commands that all kinds of registry entries have in common: show, list and remove, with secrets masked. */
import type { Command } from 'commander';
import type { RegistryPage } from '../../gateways/admin/registry-lists.ts';
import { assert } from '../../lib/assert.ts';
import { showable } from '../../lib/showable-text.ts';
import type { JsonObject } from '../../model/json.ts';
import {
  findKindOfList,
  idKeys,
  kindNames,
  listNames,
  type KindName,
} from '../../storage/registry/registry-kinds.ts';
import { changing } from '../admin/ops-action.ts';
import { opsClient } from '../admin/running-server.ts';
import { CommandError, shellWord } from '../shell/command-error.ts';
import { newCommand, type CommandContext, inContext } from '../shell/command-context.ts';
import { wholeNumberOption } from '../shell/option-values.ts';
import { alignColumns, type Cell } from '../shell/output.ts';

/** `example`: an id for the help. */
export function addShowCommand(group: Command, kind: KindName, example: string): void {
  newCommand(group, 'show', `Show the registry entry of the ${kind}.`, example)
    .argument('<id>', `the ${kind}`)
    .action(inContext((context, id: string) => showEntry(context, kind, id)));
}

export function addRemoveCommand(group: Command, kind: KindName, example: string, sentence: string): void {
  newCommand(group, 'remove', sentence, example)
    .argument('<id>', `the ${kind}`)
    .action(
      changing(`/v1/${kind}/remove`, {
        send: (id: string) => ({ [idKeys[kind]]: id }),
        describe: (_removed, _context, id) => `${showable(id)} is removed`,
      }),
    );
}

/** Also used as `registry list KIND`. */
export function addListCommand(group: Command, kind: KindName, example: string): void {
  const list = listNames[kind];
  const command = newCommand(
    group,
    'list',
    `List the ${list} in the order of their ids; secrets are masked.`,
    `--limit 100 --after ${example}`,
  );
  addPageOptions(command).action(
    inContext((context, options: ListOptions) => listEntries(context, list, options)),
  );
}

const pageMax = 10_000;

export function addPageOptions(command: Command): Command {
  return command
    .option(
      '--limit <count>',
      `maximum number of entries, up to ${pageMax}`,
      wholeNumberOption(1, pageMax),
      50,
    )
    .option('--after <id>', 'continue after this id; for webhooks, after this many');
}

async function showEntry(context: CommandContext, kind: KindName, id: string): Promise<void> {
  const entry = await findEntry<JsonObject>(context, kind, id);
  const rows = Object.entries(entry).map(([key, value]) => [key, cell(value)]);
  context.output.answer({ [kind]: entry }, alignColumns(rows));
}

/** Throws a MissingError if there is none. */
export async function findEntry<Entry>(context: CommandContext, kind: KindName, id: string): Promise<Entry> {
  const { entry } = await opsClient(context).ask<{ entry: Entry }>('/v1/registry/entry', { kind, id });
  return entry;
}

/** `secret`: the part that `--replace` generates again. */
export async function refuseExisting(
  context: CommandContext,
  kind: KindName,
  id: string,
  secret: 'key' | 'secret',
): Promise<void> {
  if ((await opsClient(context).findEntry(kind, id)) === null) return;
  throw new CommandError(
    `${kind} ${JSON.stringify(id)} is in the registry already`,
    `give it a new ${secret} with --replace, which invalidates the old one`,
  );
}

interface ListOptions {
  readonly limit: number;
  readonly after?: string;
}

/** Prints one page of a list as a table; without a list, the number of entries of each kind. */
export async function listEntries(
  context: CommandContext,
  list: string | undefined,
  { limit, after }: ListOptions,
): Promise<void> {
  const { output } = context;
  const client = opsClient(context);
  if (list === undefined) {
    const counts = await client.ask<Record<KindName, number>>('/v1/registry/counts');
    const rows = kindNames.map((kind) => [listNames[kind], counts[kind]]);
    return output.answer(counts, alignColumns(rows));
  }
  const kind = findKindOfList(list);
  assert(kind !== null, 'the argument must be one of the lists');
  const { entries, next } = await client.ask<RegistryPage>('/v1/registry/list', { kind, limit, after });
  output.answer({ [list]: entries, next }, asTable(list, entries));
  if (next !== null) output.remark(`there may be more: --after ${shellWord(next)}`);
}

function asTable(list: string, entries: readonly JsonObject[]): string {
  if (entries.length === 0) return `no ${list}`;
  // Entries may lack fields.
  const columns = Array.from(new Set(entries.flatMap((entry) => Object.keys(entry))));
  const heading = columns.map((column) => column.toUpperCase());
  return alignColumns([heading, ...entries.map((entry) => columns.map((column) => cell(entry[column])))]);
}

function cell(value: unknown): Cell {
  if (Array.isArray(value)) return value.join(',');
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : (value as Cell);
}
