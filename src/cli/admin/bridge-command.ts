/** `reveille bridge …`: the processes that may stand in a messaging app's room for a device. */
import type { Command } from 'commander';
import type { JsonObject } from '../../model/json.ts';
import { addExamples, type CommandContext, inContext } from '../shell/command-context.ts';
import { CommandError, reveilleCommand } from '../shell/command-error.ts';
import { collect, wholeNumberOption } from '../shell/option-values.ts';
import { showable } from '../../lib/showable-text.ts';
import { adminClient, advised } from './admin-client.ts';
import { isInRegistry, listEntries, type ListOptions } from './local-registry.ts';

const listedMax = 1000;

interface AddOptions {
  /** Application ids, at least one. */
  readonly app: readonly string[];
  readonly replace?: boolean;
}

export function addBridgeCommand(program: Command): void {
  const bridge = program.command('bridge').description('Add, list, revoke or remove bridges of calls.');
  addExamples(
    bridge,
    ['bridge add bridge-1 --app 2818153', 'a bridge of one application; its key is made and shown'],
    ['bridge revoke bridge-1', 'its key is refused from now on, and its connection is closed'],
  );
  addAdd(bridge);
  addList(bridge);
  addRevoke(bridge);
  addRemove(bridge);
}

function addAdd(bridge: Command): void {
  const command = bridge
    .command('add')
    .description('Add a bridge. Its key is made here, shown once and kept as its hash only.')
    .argument('<id>', '1-255 bytes of UTF-8 without control characters')
    .requiredOption('--app <id>', 'an application whose calls it takes; may be repeated', collect)
    .option('--replace', 'also when there is a bridge of this id: it gets a new key')
    .action(inContext(addBridge));
  addExamples(
    command,
    ['bridge add bridge-1 --app 2818153', 'for the calls of one application'],
    ['bridge add bridge-1 --app 2818153 --app 9999999', 'of two'],
    ['bridge add bridge-1 --app 2818153 --replace', 'a new key for a bridge that is there'],
  );
}

function addList(bridge: Command): void {
  const command = bridge
    .command('list')
    .description('List the bridges of the registry, revoked ones too.')
    .option('--limit <count>', 'at most so many', wholeNumberOption(1, listedMax), 100)
    .option('--after <id>', 'behind this one')
    .action(inContext((context, options: ListOptions) => listEntries(context, 'bridges', options)));
  addExamples(command, ['bridge list', 'for people'], ['bridge list --json', 'for machines']);
}

function addRevoke(bridge: Command): void {
  const command = bridge
    .command('revoke')
    .description('Refuse the key of a bridge from now on; where it is connected, it is sent away.')
    .argument('<id>', 'the bridge')
    .option('--restore', 'the other way round')
    .action(inContext(revokeBridge));
  addExamples(
    command,
    ['bridge revoke bridge-1', 'at once'],
    ['bridge revoke bridge-1 --restore', 'its key is good again'],
  );
}

function addRemove(bridge: Command): void {
  const command = bridge
    .command('remove')
    .description('Forget a bridge; where it is connected, it is sent away.')
    .argument('<id>', 'the bridge')
    .action(inContext(removeBridge));
  addExamples(
    command,
    ['bridge remove bridge-1', 'for good'],
    ['bridge remove bridge-1 --json', 'with what it was, for machines'],
  );
}

interface FreshBridge {
  readonly bridge: JsonObject;
  readonly key: string;
}

async function addBridge(context: CommandContext, id: string, { app, replace }: AddOptions): Promise<void> {
  if (replace !== true && (await isInRegistry(context, 'bridge', id)))
    throw new CommandError(
      `bridge ${JSON.stringify(id)} is in the registry already`,
      'give it a new key with --replace: who shows the old one is sent away',
    );
  const fresh = await advised(`see which there are: ${reveilleCommand('registry list applications')}`, () =>
    adminClient(context).change<FreshBridge>('/v1/bridge/add', { bridge_id: id, app_ids: app }),
  );
  context.output.answer(
    fresh,
    `added ${showable(id)} for ${app.join(', ')}\nkey  ${fresh.key}  (shown this once)`,
  );
}

interface RevokeOptions {
  readonly restore?: boolean;
}

async function revokeBridge(
  context: CommandContext,
  id: string,
  { restore = false }: RevokeOptions,
): Promise<void> {
  const revoked = !restore;
  const bridge = await changeBridge(context, 'revoke', { bridge_id: id, revoked });
  context.output.answer(
    bridge,
    revoked ? `${showable(id)} is revoked` : `the key of ${showable(id)} is good again`,
  );
}

async function removeBridge(context: CommandContext, id: string): Promise<void> {
  const bridge = await changeBridge(context, 'remove', { bridge_id: id });
  context.output.answer(bridge, `${showable(id)} is removed`);
}

function changeBridge(context: CommandContext, how: 'revoke' | 'remove', body: object): Promise<object> {
  return advised(`see which there are: ${reveilleCommand('bridge list')}`, () =>
    adminClient(context).change<object>(`/v1/bridge/${how}`, body),
  );
}
