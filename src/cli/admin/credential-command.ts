/** `reveille credential …`: access keys of an application; several can be valid, so that they rotate without an outage. */
import { InvalidArgumentError, type Command } from 'commander';
import { wallSeconds } from '../../lib/clock.ts';
import { permissions, type Grant } from '../../model/registry.ts';
import type { JsonObject } from '../../model/json.ts';
import { examples, type CommandContext, inContext } from '../shell/command-context.ts';
import { formatMoment, parseMoment, parseSpan } from '../shell/option-values.ts';
import { alignColumns } from '../shell/output.ts';
import { showable } from '../../lib/showable-text.ts';
import { addRemoveCommand } from '../registry/entry-commands.ts';
import { opsClient } from './running-server.ts';

interface CreateOptions {
  readonly app: string;
  readonly permissions: readonly Grant[];
  readonly notBefore?: number;
  readonly notAfter?: number;
}

export function addCredentialCommand(program: Command): void {
  const credential = program
    .command('credential')
    .description('Create, rotate, revoke or remove access keys.');
  credential
    .command('create')
    .description('Make an access key for an application. Its secret is shown once.')
    .requiredOption('--app <id>', 'the application')
    .option('--permissions <list>', `comma separated: *, ${permissions.join(', ')}`, parseGrants, ['*'])
    .option('--not-before <moment>', 'Unix seconds or ISO 8601', parseMoment)
    .option('--not-after <moment>', 'Unix seconds or ISO 8601', parseMoment)
    .addHelpText(
      'after',
      examples('credential create --app 2818153 --permissions connectivity:read,wakeup:write', [
        'credential create --app 2818153 --not-after 2027-12-31 --json >key.json',
        'a file for --credential',
      ]),
    )
    .action(inContext(createCredential));
  credential
    .command('rotate')
    .description('Make a second access key like this one, and let this one expire.')
    .argument('<access-key-id>', 'the one to be replaced')
    .option('--grace <span>', 'how long the old one stays valid: 90s, 30m, 24h, 7d', parseSpan, 86_400)
    .addHelpText('after', examples('credential rotate AK123 --grace 0'))
    .action(inContext(rotateCredential));
  credential
    .command('revoke')
    .description('Refuse an access key from now on, for ever.')
    .argument('<access-key-id>', 'the one to be refused')
    .addHelpText('after', examples('credential revoke AK123'))
    .action(inContext(revokeCredential));
  addRemoveCommand(credential, 'credential', 'AK123', 'Remove an access key; it is refused from now on.');
}

interface CredentialAnswer {
  readonly credential: JsonObject;
}

async function createCredential(context: CommandContext, options: CreateOptions): Promise<void> {
  const { credential } = await opsClient(context).change<CredentialAnswer>('/v1/credential/create', {
    app_id: options.app,
    permissions: options.permissions,
    not_before: options.notBefore ?? null,
    not_after: options.notAfter ?? null,
  });
  context.output.answer(credential, describeFresh(credential));
}

interface RotateOptions {
  /** Seconds. */
  readonly grace: number;
}

async function rotateCredential(
  context: CommandContext,
  id: string,
  { grace: graceSeconds }: RotateOptions,
): Promise<void> {
  const body = { access_key_id: id, grace_s: graceSeconds };
  const { credential } = await opsClient(context).change<CredentialAnswer>('/v1/credential/rotate', body);
  const end = formatMoment(wallSeconds(context.clock) + graceSeconds, '');
  context.output.answer(
    { ...credential, replaced: id },
    `${describeFresh(credential)}\n${showable(id)} is good until ${end}`,
  );
}

async function revokeCredential(context: CommandContext, id: string): Promise<void> {
  await opsClient(context).change('/v1/credential/revoke', { access_key_id: id });
  context.output.answer({ revoked: id }, `${showable(id)} is revoked`);
}

function describeFresh(credential: JsonObject): string {
  const rows = [
    ['application', String(credential['app_id'])],
    ['access key id', String(credential['access_key_id'])],
    ['secret key', `${String(credential['secret_key'])}  (shown this once)`],
    ['permissions', (credential['permissions'] as readonly string[]).join(', ')],
  ];
  return alignColumns(rows);
}

const grants: readonly string[] = ['*', ...permissions];

function parseGrants(text: string): readonly Grant[] {
  const given = text.split(',').map((grant) => grant.trim());
  const unknown = given.find((grant) => !grants.includes(grant));
  if (unknown !== undefined)
    throw new InvalidArgumentError(`Expected some of ${grants.join(', ')}; got "${unknown}".`);
  return given as Grant[];
}
