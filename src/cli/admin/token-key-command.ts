/** `reveille token-key …`: the keys that sign the tokens of calls. Their secrets are never shown. */
import type { Command } from 'commander';
import type { TokenKeyListing, TokenKeyRotationJson } from '../../gateways/admin/secret-routes.ts';
import { addExamples, type CommandContext, inContext } from '../shell/command-context.ts';
import { formatMoment } from '../shell/option-values.ts';
import { alignColumns } from '../shell/output.ts';
import { showable } from '../../lib/showable-text.ts';
import { opsClient } from './running-server.ts';

export function addTokenKeyCommand(program: Command): void {
  const tokenKey = program
    .command('token-key')
    .description("List, rotate or retire the keys that sign calls' tokens. Their secrets are never shown.");
  addExamples(
    tokenKey,
    ['token-key list', 'which key signs, and which one is accepted beside it'],
    ['token-key rotate', 'a new key signs; tokens of the former one stay good'],
  );
  addList(tokenKey);
  addRotate(tokenKey);
  addRetire(tokenKey);
}

function addList(tokenKey: Command): void {
  const command = tokenKey
    .command('list')
    .description('List the keys, the one that signs first.')
    .action(inContext(listTokenKeys));
  addExamples(command, ['token-key list', 'for people'], ['token-key list --json', 'for machines']);
}

function addRotate(tokenKey: Command): void {
  const command = tokenKey
    .command('rotate')
    .description(
      'Make a new key that signs from now on. The former one is accepted still; an older one is dropped, and its ' +
        'tokens are refused: wait between two rotations as long as a call may take to begin.',
    )
    .action(inContext(rotateTokenKeys));
  addExamples(command, ['token-key rotate', 'at once'], ['token-key rotate --json', 'for machines']);
}

function addRetire(tokenKey: Command): void {
  const command = tokenKey
    .command('retire')
    .description('Remove a key: its tokens are refused from now on. The last key stays.')
    .argument('<kid>', 'as token-key list shows it')
    .action(inContext(retireTokenKey));
  addExamples(
    command,
    ['token-key retire 5f2b9c01', 'when somebody else may have it: rotate first'],
    ['token-key retire 5f2b9c01 --json', 'for machines'],
  );
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
