/** `reveille product …`: what devices have in common, and whose applications may call them. */
import type { Command } from 'commander';
import { messageOf } from '../../lib/result.ts';
import { showable } from '../../lib/showable-text.ts';
import { readTextFile } from '../../lib/text-file.ts';
import type { JsonObject } from '../../model/json.ts';
import { addExamples, type CommandContext, inContext } from '../shell/command-context.ts';
import { CommandError } from '../shell/command-error.ts';
import { collect } from '../shell/option-values.ts';
import { opsClient } from '../admin/running-server.ts';
import { addListCommand, addRemoveCommand, addShowCommand } from './entry-commands.ts';

export function addProductCommand(program: Command): void {
  const product = program
    .command('product')
    .description('Add, show, list or remove products: what devices have in common.');
  addExamples(
    product,
    ['product add doorbell --app 2818153', 'a product whose devices one application may call'],
    ['product show doorbell', 'what the registry has of it'],
  );
  addAdd(product);
  addShowCommand(product, 'product', 'doorbell');
  addListCommand(product, 'product');
  addRemoveCommand(product, 'product', 'doorbell', 'Remove a product that has no devices any more.');
}

interface AddOptions {
  /** Application ids, at least one. */
  readonly app: readonly string[];
  /** Path. */
  readonly defaults?: string;
  readonly replace?: boolean;
}

function addAdd(product: Command): void {
  const command = product
    .command('add')
    .description('Add a product.')
    .argument('<id>', '1-255 bytes of UTF-8 without control characters')
    .requiredOption('--app <id>', 'an application that may call its devices; may be repeated', collect)
    .option('--defaults <file>', 'JSON: the defaults of its devices, as in a registry file')
    .option('--replace', 'also when there is a product of this id: its defaults stay if none are given')
    .action(inContext(addProduct));
  addExamples(
    command,
    ['product add doorbell --app 2818153', 'of one application'],
    ['product add doorbell --app 2818153 --app 9999999 --replace', 'one that is there, of two'],
    ['product add doorbell --app 2818153 --defaults doorbell.json', 'with defaults for its devices'],
  );
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
    return JSON.parse(readTextFile(file));
  } catch (error) {
    throw new CommandError(`${file} cannot be read as JSON: ${messageOf(error)}`);
  }
}
