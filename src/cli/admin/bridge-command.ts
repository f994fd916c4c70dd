/** `reveille bridge …`: the processes that may stand in a messaging app's room for a device. */
import type { Command } from 'commander';
import type { JsonObject } from '../../model/json.ts';
import { addExamples, type CommandContext, inContext } from '../shell/command-context.ts';
import { CommandError } from '../shell/command-error.ts';
import { collect } from '../shell/option-values.ts';
import { showable } from '../../lib/showable-text.ts';
import { addListCommand, addRemoveCommand, isInRegistry } from '../registry/entry-commands.ts';
import { opsClient } from './running-server.ts';

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
  addListCommand(bridge, 'bridge');
  addRevoke(bridge);
  addRemoveCommand(bridge, 'bridge', 'bridge-1', 'Forget a bridge; where it is connected, it is sent away.');
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
  const body = { bridge_id: id, app_ids: app };
  const fresh = await opsClient(context).change<FreshBridge>('/v1/bridge/add', body);
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
  const bridge = await opsClient(context).change<object>('/v1/bridge/revoke', { bridge_id: id, revoked });
  context.output.answer(
    bridge,
    revoked ? `${showable(id)} is revoked` : `the key of ${showable(id)} is good again`,
  );
}
