/** `reveille application …`: those who may call, each with its own products and access keys. */
import type { Command } from 'commander';
import type { JsonObject } from '../../model/json.ts';
import { showable } from '../../lib/showable-text.ts';
import { addExamples, type CommandContext, inContext } from '../shell/command-context.ts';
import { opsClient } from '../admin/running-server.ts';
import { addListCommand, addRemoveCommand, addShowCommand } from './entry-commands.ts';

export function addApplicationCommand(program: Command): void {
  const application = program
    .command('application')
    .description('Add, show, list or remove applications: those who may call.');
  addExamples(
    application,
    ['application add 2818153 --name demo', 'a new one; its access key is made by credential create'],
    ['application list', 'those that there are'],
  );
  addAdd(application);
  addShowCommand(application, 'application', '2818153');
  addListCommand(application, 'application');
  addRemoveCommand(
    application,
    'application',
    '2818153',
    'Remove an application that has no products, access keys, webhooks and bridges any more.',
  );
}

interface AddOptions {
  readonly name: string;
  readonly replace?: boolean;
}

function addAdd(application: Command): void {
  const command = application
    .command('add')
    .description('Add an application.')
    .argument('<id>', '1-255 bytes of UTF-8 without control characters')
    .requiredOption('--name <name>', 'for people, 1-255 bytes of UTF-8')
    .option('--replace', 'also when there is an application of this id: it gets the name')
    .action(inContext(addApplication));
  addExamples(
    command,
    ['application add 2818153 --name demo', 'a new one'],
    ['application add 2818153 --name doors --replace', 'another name for one that is there'],
  );
}

async function addApplication(
  context: CommandContext,
  id: string,
  { name, replace = false }: AddOptions,
): Promise<void> {
  const body = { app_id: id, name, replace };
  const { application } = await opsClient(context).change<{ application: JsonObject }>(
    '/v1/application/add',
    body,
  );
  context.output.answer({ application }, `added application ${showable(id)}`);
}
