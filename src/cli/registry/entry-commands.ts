/** Commands that applications, products and the like have alike: show, list and remove of one kind of registry entry. */
import type { Command } from 'commander';
import { idKeys, isKindName, listNames, type KindName } from '../../storage/registry/registry-kinds.ts';
import type { JsonObject } from '../../model/json.ts';
import { addExamples, type CommandContext, inContext } from '../shell/command-context.ts';
import { CommandError, reveilleCommand } from '../shell/command-error.ts';
import { wholeNumberOption } from '../shell/option-values.ts';
import { alignColumns } from '../shell/output.ts';
import { showable } from '../../lib/showable-text.ts';
import { adminClient } from '../admin/admin-client.ts';
import { MissingError } from '../admin/ops-client.ts';
import { cell, findEntry, listEntries, type ListOptions } from '../admin/local-registry.ts';

const listedMax = 10_000;

/** `example`: the id of one. */
export function addShowCommand(group: Command, kind: KindName, example: string): void {
  const command = group
    .command('show')
    .description(`Show what the registry has of the ${kind}.`)
    .argument('<id>', `the ${kind}`)
    .action(inContext((context, id: string) => showEntry(context, kind, id)));
  addExamples(
    command,
    [`${kind} show ${example}`, 'for people'],
    [`${kind} show ${example} --json`, 'for machines'],
  );
}

export function addListCommand(group: Command, kind: KindName): void {
  const command = group
    .command('list')
    .description(`List the ${listNames[kind]} of the registry, in the order of their ids.`)
    .option('--limit <count>', 'at most so many', wholeNumberOption(1, listedMax), 100)
    .option('--after <id>', 'behind this one')
    .action(inContext((context, options: ListOptions) => listEntries(context, listNames[kind], options)));
  addExamples(command, [`${kind} list`, 'for people'], [`${kind} list --json`, 'for machines']);
}

export function addRemoveCommand(group: Command, kind: KindName, example: string, sentence: string): void {
  const command = group
    .command('remove')
    .description(sentence)
    .argument('<id>', `the ${kind}`)
    .action(inContext((context, id: string) => removeEntry(context, kind, id)));
  addExamples(
    command,
    [`${kind} remove ${example}`, 'for good'],
    [`${kind} remove ${example} --json`, 'for machines'],
  );
}

async function showEntry(context: CommandContext, kind: KindName, id: string): Promise<void> {
  const entry = await orWhichThereAre(() => findEntry<JsonObject>(context, kind, id));
  const rows = Object.entries(entry).map(([key, value]) => [key, cell(value)]);
  context.output.answer({ [kind]: entry }, alignColumns(rows));
}

async function removeEntry(context: CommandContext, kind: KindName, id: string): Promise<void> {
  const removed = await changeEntry<object>(context, kind, 'remove', { [idKeys[kind]]: id });
  context.output.answer(removed, `${showable(id)} is removed`);
}

export function changeEntry<Answer>(
  context: CommandContext,
  kind: KindName,
  how: string,
  body: object,
): Promise<Answer> {
  return orWhichThereAre(() => adminClient(context).change<Answer>(`/v1/${kind}/${how}`, body));
}

/** A refusal because an entry is missing gets the advice to look which there are of its kind. */
async function orWhichThereAre<Answer>(act: () => Promise<Answer>): Promise<Answer> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof MissingError)) throw error;
    const [, kind] = /^no (\w+) /.exec(error.message) ?? [];
    if (!isKindName(kind)) throw error;
    const advice = `see which there are: ${reveilleCommand(`registry list ${listNames[kind]}`)}`;
    throw new CommandError(error.message, advice);
  }
}
