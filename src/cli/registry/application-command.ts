/** `reveille application …`: manages applications, which sign requests and own products and access keys. */
import type { Command } from 'commander';
import { showable } from '../../lib/showable-text.ts';
import { newCommand } from '../shell/command-context.ts';
import { changing } from '../admin/ops-action.ts';
import { addListCommand, addRemoveCommand, addShowCommand } from './entry-commands.ts';

export function addApplicationCommand(program: Command): void {
  const application = program
    .command('application')
    .description('Add, list, show or remove applications, which own products and access keys.');
  newCommand(application, 'add', 'Add an application.', '2818153 --name demo')
    .argument('<id>', '1-255 bytes of UTF-8 without control characters')
    .requiredOption('--name <name>', 'a name for people, 1-255 bytes of UTF-8')
    .option('--replace', 'give an existing application this name')
    .action(
      changing('/v1/application/add', {
        send: (id: string, { name, replace }: AddOptions) => ({ app_id: id, name, replace }),
        describe: (_application, _context, id) => `added application ${showable(id)}`,
      }),
    );
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
