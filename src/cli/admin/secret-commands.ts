/** `reveille token …` and `reveille token-key …`: manages operators' tokens and the keys that sign call tokens. */
import { Option, type Command } from 'commander';
import type {
  FreshOpsTokenJson,
  OpsTokenListing,
  TokenKeyListing,
  TokenKeyRotationJson,
} from '../../gateways/admin/secret-routes.ts';
import { operatorNameForm, opsRoles, type OpsRole } from '../../model/audit.ts';
import { newCommand } from '../shell/command-context.ts';
import { formatMoment } from '../shell/option-values.ts';
import { tableOf } from '../shell/output.ts';
import { showable } from '../../lib/showable-text.ts';
import { outputOption } from '../shell/secret-file.ts';
import { asking, changing, makingSecret } from './ops-action.ts';

export function addTokenCommand(program: Command): void {
  const token = program
    .command('token')
    .alias('ops-token')
    .description(
      "Create, list or revoke named tokens for the ops listener. This machine's own is in ops.token.",
    );
  const role = new Option('--role <role>', 'a viewer may read lists, states and events, but change nothing');
  newCommand(token, 'create', 'Create a token. It is shown once; only its hash is stored.', [
    'alice --role operator',
    'the audit log records changes under this name',
  ])
    .argument('<name>', operatorNameForm)
    .addOption(role.choices(opsRoles).makeOptionMandatory())
    .addOption(outputOption())
    .action(
      makingSecret('/v1/ops-tokens/create', {
        send: (name: string, { role }: { readonly role: OpsRole }) => ({ name, role }),
        describe: ({ name, role, token }: FreshOpsTokenJson) =>
          `created a token for ${name} (${role})\ntoken  ${token}  (shown this once)`,
      }),
    );
  newCommand(
    token,
    'list',
    'List the named tokens with their role, creation time and last use, to the minute.',
  ).action(asking('/v1/ops-tokens', { describe: describeTokens }));
  newCommand(token, 'revoke', 'Refuse a token from now on.', 'alice')
    .argument('<name>', 'the name of the token, from token list')
    .action(
      changing('/v1/ops-tokens/revoke', {
        send: (name: string) => ({ name }),
        describe: (_revoked, _context, name) =>
          `the token of ${showable(name)} is revoked: it is refused from now on`,
      }),
    );
}

function describeTokens({ tokens }: OpsTokenListing): string {
  if (tokens.length === 0) return 'no named tokens; commands on this machine use ops.token';
  return tableOf(tokens, {
    NAME: ({ name }) => name,
    ROLE: ({ role }) => role,
    MADE: (token) => formatMoment(token.created_at, 'unknown'),
    'LAST USED': (token) => formatMoment(token.last_used_at, 'never'),
  });
}

export function addTokenKeyCommand(program: Command): void {
  const tokenKey = program
    .command('token-key')
    .description('List, rotate or retire the keys that sign call tokens. Their secrets are never shown.');
  newCommand(tokenKey, 'list', 'List the keys, the signing one first.').action(
    asking('/v1/token-keys', { describe: describeKeys }),
  );
  newCommand(
    tokenKey,
    'rotate',
    'Create a new signing key. The previous key stays valid; an older one is dropped, and its tokens are refused. Between ' +
      'two rotations, wait as long as a call may take to start.',
  ).action(changing('/v1/token-keys/rotate', { describe: describeRotation }));
  newCommand(tokenKey, 'retire', 'Remove a key: its tokens are refused from now on. The last key stays.', [
    '5f2b9c01',
    'a key that leaked: rotate first',
  ])
    .argument('<kid>', 'the id of the key, from token-key list')
    .action(
      changing('/v1/token-keys/retire', {
        send: (kid: string) => ({ kid }),
        describe: (left: TokenKeyListing, _context, kid) =>
          `${showable(kid)} is retired: its tokens are refused\n${describeKeys(left)}`,
      }),
    );
}

function describeKeys({ keys }: TokenKeyListing): string {
  return tableOf(keys, {
    KID: ({ kid }) => kid,
    MADE: (key) => formatMoment(key.created_at, 'unknown'),
    USE: ({ signs }) => (signs ? 'signs' : 'accepted'),
  });
}

function describeRotation(rotated: TokenKeyRotationJson): string {
  const dropped = rotated.dropped.map((kid) => `\n${kid} is dropped: its tokens are refused`);
  return describeKeys(rotated) + dropped.join('');
}
