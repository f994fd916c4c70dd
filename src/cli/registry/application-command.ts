/** `reveille application …`: manages applications, which sign requests and own products and access keys. */
import type { Command } from 'commander';
import type { JsonObject } from '../../model/json.ts';
import { showable } from '../../lib/showable-text.ts';
import { examples, type CommandContext, inContext } from '../shell/command-context.ts';
import { opsClient } from '../admin/running-server.ts';
import { addListCommand, addRemoveCommand, addShowCommand } from './entry-commands.ts';

export function addApplicationCommand(program: Command): void {
  const application = program
    .command('application')
    .description('Add, list, show or remove applications, which own products and access keys.');
  application
    .command('add')
    .description('Add an application.')
    .argument('<id>', '1-255 bytes of UTF-8 without control characters')
    .requiredOption('--name <name>', 'a name for people, 1-255 bytes of UTF-8')
    .option('--replace', 'give an existing application this name')
    .addHelpText('after', examples('application add 2818153 --name demo'))
    .action(inContext(addApplication));
  addListCommand(application, 'application', '2818153');
  addShowCommand(application, 'application', '2818153');
  addRemoveCommand(
    application,
    'application',
    '2818153',
    'Remove an application that has no products, access keys, webhooks or bridges.',
  );
}

interface AddOptions {
  readonly name: string;
  readonly replace?: boolean;
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
