/** `reveille ops-token …`: the tokens by which operators are known to the ops listener. */
import { Option, type Command } from 'commander';
import { operatorNameForm, opsRoles, type OpsRole } from '../../model/operator.ts';
import { addExamples, contextOf } from '../shell/command-context.ts';
import { createOpsToken, listOpsTokens, revokeOpsToken } from './ops-token-actions.ts';

export function addOpsTokenCommand(program: Command): void {
  const opsToken = program
    .command('ops-token')
    .description(
      "Make, list or revoke named tokens for the ops listener. This machine's command line has one in ops.token.",
    );
  addExamples(
    opsToken,
    ['ops-token create alice --role operator', 'her changes are in the audit log under her name'],
    ['ops-token list', 'who has one, and when it was last used'],
  );
  addCreate(opsToken);
  addList(opsToken);
  addRevoke(opsToken);
}

function addCreate(opsToken: Command): void {
  const role = new Option('--role <role>', 'a viewer may read lists, states and events, and change nothing');
  const command = opsToken
    .command('create')
    .description('Make a token. It is shown now and never again; its hash alone is kept.')
    .argument('<name>', operatorNameForm)
    .addOption(role.choices(opsRoles).makeOptionMandatory())
    .action((name: string, options: { role: OpsRole }, self: Command) =>
      createOpsToken(contextOf(self), name, options.role),
    );
  addExamples(
    command,
    ['ops-token create alice --role operator', 'for somebody who changes things'],
    ['ops-token create grafana --role viewer --json', 'for a program that looks'],
  );
}

function addList(opsToken: Command): void {
  const command = opsToken
    .command('list')
    .description('List the named tokens: role, when it was made, and when it was last used, to the minute.')
    .action((_options: object, self: Command) => listOpsTokens(contextOf(self)));
  addExamples(command, ['ops-token list', 'for people'], ['ops-token list --json', 'for machines']);
}

function addRevoke(opsToken: Command): void {
  const command = opsToken
    .command('revoke')
    .description('Refuse a token from now on.')
    .argument('<name>', 'as ops-token list shows it')
    .action((name: string, _options: object, self: Command) => revokeOpsToken(contextOf(self), name));
  addExamples(
    command,
    ['ops-token revoke alice', 'in the running server at once, else in its file'],
    ['ops-token revoke alice --json', 'for machines'],
  );
}
