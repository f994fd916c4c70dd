/** `reveille ops-token …`: the tokens by which operators are known to the ops listener. */
import { Option, type Command } from 'commander';
import type { FreshOpsTokenJson, OpsTokenListing } from '../../gateways/admin/secret-routes.ts';
import { operatorNameForm, opsRoles, type OpsRole } from '../../model/audit.ts';
import { examples, type CommandContext, inContext } from '../shell/command-context.ts';
import { formatMoment } from '../shell/option-values.ts';
import { alignColumns } from '../shell/output.ts';
import { showable } from '../../lib/showable-text.ts';
import { opsClient } from './running-server.ts';

export function addOpsTokenCommand(program: Command): void {
  const opsToken = program
    .command('ops-token')
    .description("Make, list or revoke named tokens for the ops listener. This machine's is in ops.token.");
  const role = new Option('--role <role>', 'a viewer may read lists, states and events, and change nothing');
  opsToken
    .command('create')
    .description('Make a token. It is shown once; only its hash is kept.')
    .argument('<name>', operatorNameForm)
    .addOption(role.choices(opsRoles).makeOptionMandatory())
    .addHelpText(
      'after',
      examples(['ops-token create alice --role operator', 'the audit log has her changes under her name']),
    )
    .action(inContext(createOpsToken));
  opsToken
    .command('list')
    .description('List the named tokens: role, when it was made, and when it was last used, to the minute.')
    .addHelpText('after', examples('ops-token list'))
    .action(inContext(listOpsTokens));
  opsToken
    .command('revoke')
    .description('Refuse a token from now on.')
    .argument('<name>', 'as ops-token list shows it')
    .addHelpText('after', examples('ops-token revoke alice'))
    .action(inContext(revokeOpsToken));
}

interface CreateOptions {
  readonly role: OpsRole;
}

async function createOpsToken(context: CommandContext, name: string, { role }: CreateOptions): Promise<void> {
  const fresh = await opsClient(context).change<FreshOpsTokenJson>('/v1/ops-tokens/create', { name, role });
  context.output.answer(
    fresh,
    `made a token for ${name} (${role})\ntoken  ${fresh.token}  (shown this once)`,
  );
}

async function listOpsTokens(context: CommandContext): Promise<void> {
  const listing = await opsClient(context).ask<OpsTokenListing>('/v1/ops-tokens');
  context.output.answer(listing, describe(listing));
}

async function revokeOpsToken(context: CommandContext, name: string): Promise<void> {
  await opsClient(context).change('/v1/ops-tokens/revoke', { name });
  context.output.answer(
    { revoked: name },
    `the token of ${showable(name)} is revoked: it is refused from now on`,
  );
}

function describe({ tokens }: OpsTokenListing): string {
  if (tokens.length === 0) return 'no named tokens; the local command line has ops.token';
  const rows = tokens.map(({ name, role, created_at: createdAtS, last_used_at: lastUsedAtS }) => [
    name,
    role,
    formatMoment(createdAtS, 'unknown'),
    formatMoment(lastUsedAtS, 'never'),
  ]);
  return alignColumns([['NAME', 'ROLE', 'MADE', 'LAST USED'], ...rows]);
}
