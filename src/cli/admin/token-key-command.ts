/** `reveille token-key …`: the keys that sign the tokens of calls. Their secrets are never shown. */
import type { Command } from 'commander';
import type { TokenKeyListing, TokenKeyRotationJson } from '../../gateways/admin/secret-routes.ts';
import { examples, type CommandContext, inContext } from '../shell/command-context.ts';
import { formatMoment } from '../shell/option-values.ts';
import { alignColumns } from '../shell/output.ts';
import { showable } from '../../lib/showable-text.ts';
import { opsClient } from './running-server.ts';

export function addTokenKeyCommand(program: Command): void {
  const tokenKey = program
    .command('token-key')
    .description("List, rotate or retire the keys that sign calls' tokens. Their secrets are never shown.");
  tokenKey
    .command('list')
    .description('List the keys, the signing one first.')
    .addHelpText('after', examples('token-key list'))
    .action(inContext(listTokenKeys));
  tokenKey
    .command('rotate')
    .description(
      'Make a new signing key. The former one stays accepted; an older one is dropped, and its tokens are refused: between ' +
        'two rotations wait as long as a call may take to begin.',
    )
    .addHelpText('after', examples('token-key rotate'))
    .action(inContext(rotateTokenKeys));
  tokenKey
    .command('retire')
    .description('Remove a key: its tokens are refused from now on. The last key stays.')
    .argument('<kid>', 'as token-key list shows it')
    .addHelpText('after', examples(['token-key retire 5f2b9c01', 'a key that leaked: rotate first']))
    .action(inContext(retireTokenKey));
}

async function listTokenKeys(context: CommandContext): Promise<void> {
  const listing = await opsClient(context).ask<TokenKeyListing>('/v1/token-keys');
  context.output.answer(listing, describeListing(listing));
}

async function rotateTokenKeys(context: CommandContext): Promise<void> {
  const rotated = await opsClient(context).change<TokenKeyRotationJson>('/v1/token-keys/rotate', {});
  context.output.answer(rotated, describeRotation(rotated));
}

async function retireTokenKey(context: CommandContext, kid: string): Promise<void> {
  const left = await opsClient(context).change<TokenKeyListing>('/v1/token-keys/retire', { kid });
  context.output.answer(
    left,
    `${showable(kid)} is retired: its tokens are refused\n${describeListing(left)}`,
  );
}

function describeListing({ keys }: TokenKeyListing): string {
  const rows = keys.map(({ kid, created_at: createdAtS, signs }) => [
    kid,
    formatMoment(createdAtS, 'unknown'),
    signs ? 'signs' : 'accepted',
  ]);
  return alignColumns([['KID', 'MADE', 'USE'], ...rows]);
}

function describeRotation(rotated: TokenKeyRotationJson): string {
  const dropped = rotated.dropped.map((kid) => `\n${kid} is dropped: its tokens are refused`);
  return describeListing(rotated) + dropped.join('');
}
