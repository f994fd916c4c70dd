/** `reveille bridge …`: manages the bridges, the processes that join an app's room on behalf of a device. */
import type { Command } from 'commander';
import type { JsonObject } from '../../model/json.ts';
import { newCommand, type CommandContext, inContext } from '../shell/command-context.ts';
import { collect } from '../shell/option-values.ts';
import { showable } from '../../lib/showable-text.ts';
import { answerSecret, outputOption, type SecretOptions } from '../shell/secret-file.ts';
import { addListCommand, addRemoveCommand, refuseExisting } from '../registry/entry-commands.ts';
import { changing } from './ops-action.ts';
import { opsClient } from './running-server.ts';

interface AddOptions extends SecretOptions {
  /** Application ids, at least one. */
  readonly app: readonly string[];
  readonly replace?: boolean;
}

export function addBridgeCommand(program: Command): void {
  const bridge = program
    .command('bridge')
    .description('Add, list, revoke or remove the bridges that join calls.');
  newCommand(
    bridge,
    'add',
    'Add a bridge. Its key is generated and shown once; only its hash is stored.',
    'bridge-1 --app 2818153',
  )
    .argument('<id>', '1-255 bytes of UTF-8 without control characters')
    .requiredOption('--app <id>', 'an application whose calls the bridge accepts; may be repeated', collect)
    .option('--replace', 'give an existing bridge a new key')
    .addOption(outputOption())
    .action(inContext(addBridge));
  addListCommand(bridge, 'bridge', 'bridge-1');
  newCommand(
    bridge,
    'revoke',
    'Refuse the key of a bridge from now on, and close its connection.',
    'bridge-1',
  )
    .argument('<id>', 'the bridge')
    .option('--restore', 'accept the key again')
    .action(
      changing('/v1/bridge/revoke', {
        send: (id: string, { restore = false }: RevokeOptions) => ({ bridge_id: id, revoked: !restore }),
        describe: (_bridge, _context, id, { restore }) =>
          restore === true ? `the key of ${showable(id)} is accepted again` : `${showable(id)} is revoked`,
      }),
    );
  addRemoveCommand(bridge, 'bridge', 'bridge-1', 'Remove a bridge, and close its connection.');
}

interface FreshBridge {
  readonly bridge: JsonObject;
  readonly key: string;
}

async function addBridge(context: CommandContext, id: string, options: AddOptions): Promise<void> {
  const { app, replace } = options;
  if (replace !== true) await refuseExisting(context, 'bridge', id, 'key');
  const body = { bridge_id: id, app_ids: app };
  await answerSecret(context, options, async () => {
    const fresh = await opsClient(context).change<FreshBridge>('/v1/bridge/add', body);
    return [fresh, `added ${showable(id)} for ${app.join(', ')}\nkey  ${fresh.key}  (shown this once)`];
  });
}

interface RevokeOptions {
  readonly restore?: boolean;
}
