/** `reveille bridge …`: the processes that may stand in a messaging app's room for a device. */
import type { Command } from 'commander';
import type { JsonObject } from '../../model/json.ts';
import { examples, type CommandContext, inContext } from '../shell/command-context.ts';
import { CommandError } from '../shell/command-error.ts';
import { collect } from '../shell/option-values.ts';
import { showable } from '../../lib/showable-text.ts';
import { addRemoveCommand, isInRegistry } from '../registry/entry-commands.ts';
import { opsClient } from './running-server.ts';

interface AddOptions {
  /** Application ids, at least one. */
  readonly app: readonly string[];
  readonly replace?: boolean;
}

export function addBridgeCommand(program: Command): void {
  const bridge = program.command('bridge').description('Add, revoke or remove bridges of calls.');
  bridge
    .command('add')
    .description('Add a bridge. Its key is generated and shown once; only its hash is kept.')
    .argument('<id>', '1-255 bytes of UTF-8 without control characters')
    .requiredOption('--app <id>', 'an application whose calls it takes; may be repeated', collect)
    .option('--replace', 'give an existing bridge a new key')
    .addHelpText('after', examples('bridge add bridge-1 --app 2818153'))
    .action(inContext(addBridge));
  bridge
    .command('revoke')
    .description('Refuse the key of a bridge from now on, and close its connection.')
    .argument('<id>', 'the bridge')
    .option('--restore', 'accept it again')
    .addHelpText('after', examples('bridge revoke bridge-1'))
    .action(inContext(revokeBridge));
  addRemoveCommand(bridge, 'bridge', 'bridge-1', 'Remove a bridge, and close its connection.');
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
