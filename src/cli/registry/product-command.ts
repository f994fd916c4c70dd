/** `reveille product …`: manages products, which hold the common properties of devices and the applications allowed to call them. */
import type { Command } from 'commander';
import { messageOf } from '../../lib/result.ts';
import { showable } from '../../lib/showable-text.ts';
import { readJsonFile } from '../../lib/text-file.ts';
import { newCommand } from '../shell/command-context.ts';
import { CommandError } from '../shell/command-error.ts';
import { collect } from '../shell/option-values.ts';
import { changing } from '../admin/ops-action.ts';
import { addListCommand, addRemoveCommand, addShowCommand } from './entry-commands.ts';

export function addProductCommand(program: Command): void {
  const product = program
    .command('product')
    .description('Add, list, show or remove products, the common properties of devices.');
  newCommand(product, 'add', 'Add a product.', 'doorbell --app 2818153 --defaults doorbell.json')
    .argument('<id>', '1-255 bytes of UTF-8 without control characters')
    .requiredOption('--app <id>', 'an application that may call its devices; may be repeated', collect)
    .option('--defaults <file>', 'JSON: the defaults of its devices, as in a registry file')
    .option('--replace', 'change an existing product; without --defaults it keeps its own')
    .action(
      changing('/v1/product/add', {
        send: (id: string, { app, defaults: file, replace }: AddOptions) => {
          const defaults = file === undefined ? {} : { defaults: readJson(file) };
          return { product_id: id, app_ids: app, ...defaults, replace };
        },
        describe: (_product, _context, id, { app }) =>
          `added product ${showable(id)} of ${app.map(showable).join(', ')}`,
      }),
    );
  addListCommand(product, 'product', 'doorbell');
  addShowCommand(product, 'product', 'doorbell');
  addRemoveCommand(product, 'product', 'doorbell', 'Remove a product that has no devices.');
}

interface AddOptions {
  /** Application ids, at least one. */
  readonly app: readonly string[];
  readonly defaults?: string;
  readonly replace?: boolean;
}

function readJson(file: string): unknown {
  try {
    return readJsonFile(file);
  } catch (error) {
    throw new CommandError(`the defaults in ${file} cannot be read: ${messageOf(error)}`);
  }
}
