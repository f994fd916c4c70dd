/** `reveille product …`: manages products, which hold the common properties of devices and the applications allowed to call them. */
import type { Command } from 'commander';
import { messageOf } from '../../lib/result.ts';
import { showable } from '../../lib/showable-text.ts';
import { readJsonFile } from '../../lib/text-file.ts';
import type { JsonObject } from '../../model/json.ts';
import { examples, type CommandContext, inContext } from '../shell/command-context.ts';
import { CommandError } from '../shell/command-error.ts';
import { collect } from '../shell/option-values.ts';
import { opsClient } from '../admin/running-server.ts';
import { addListCommand, addRemoveCommand, addShowCommand } from './entry-commands.ts';

export function addProductCommand(program: Command): void {
  const product = program
    .command('product')
    .description('Add, list, show or remove products, the common properties of devices.');
  product
    .command('add')
    .description('Add a product.')
    .argument('<id>', '1-255 bytes of UTF-8 without control characters')
    .requiredOption('--app <id>', 'an application that may call its devices; may be repeated', collect)
    .option('--defaults <file>', 'JSON: the defaults of its devices, as in a registry file')
    .option('--replace', 'change an existing product; without --defaults it keeps its own')
    .addHelpText('after', examples('product add doorbell --app 2818153 --defaults doorbell.json'))
    .action(inContext(addProduct));
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

async function addProduct(
  context: CommandContext,
  id: string,
  { app, defaults: file, replace = false }: AddOptions,
): Promise<void> {
  const defaults = file === undefined ? {} : { defaults: readJson(file) };
  const body = { product_id: id, app_ids: app, ...defaults, replace };
  const { product } = await opsClient(context).change<{ product: JsonObject }>('/v1/product/add', body);
  const apps = app.map(showable).join(', ');
  context.output.answer({ product }, `added product ${showable(id)} of ${apps}`);
}

function readJson(file: string): unknown {
  try {
    return readJsonFile(file);
  } catch (error) {
    throw new CommandError(`the defaults in ${file} cannot be read: ${messageOf(error)}`);
  }
}
