/** `reveille credential …`: manages access keys. An application can have several valid ones, so that they rotate without an outage. */
import { InvalidArgumentError, type Command } from 'commander';
import { wallSeconds } from '../../lib/clock.ts';
import { permissions, type Grant } from '../../model/registry.ts';
import type { JsonObject } from '../../model/json.ts';
import { newCommand } from '../shell/command-context.ts';
import { formatMoment, parseMoment, parseSpan } from '../shell/option-values.ts';
import { alignColumns } from '../shell/output.ts';
import { showable } from '../../lib/showable-text.ts';
import { addListCommand, addRemoveCommand } from '../registry/entry-commands.ts';
import { outputOption } from '../shell/secret-file.ts';
import { changing, makingSecret } from './ops-action.ts';

interface CreateOptions {
  readonly app: string;
  readonly permissions: readonly Grant[];
  readonly notBefore?: number;
  readonly notAfter?: number;
}

export function addCredentialCommand(program: Command): void {
  const credential = program
    .command('credential')
    .description('Create, list, rotate, revoke or remove access keys.');
  newCommand(
    credential,
    'create',
    'Create an access key for an application. Its secret is shown once.',
    '--app 2818153 --permissions connectivity:read,wakeup:write',
    ['--app 2818153 --not-after 2027-12-31 --output key.json', 'a file for --credential'],
  )
    .requiredOption('--app <id>', 'the application')
    .option('--permissions <list>', `separated by commas: *, ${permissions.join(', ')}`, parseGrants, ['*'])
    .option('--not-before <moment>', 'Unix seconds or ISO 8601', parseMoment)
    .option('--not-after <moment>', 'Unix seconds or ISO 8601', parseMoment)
    .addOption(outputOption())
    .action(
      makingSecret('/v1/credential/create', {
        send: ({ app, permissions, notBefore, notAfter }: CreateOptions) => ({
          app_id: app,
          permissions,
          not_before: notBefore,
          not_after: notAfter,
        }),
        json: ({ credential }: CredentialAnswer) => credential,
        describe: ({ credential }) => describeFresh(credential),
      }),
    );
  addListCommand(credential, 'credential', 'AK123');
  newCommand(
    credential,
    'rotate',
    'Create a second access key with the same permissions, and let this one expire.',
    'AK123 --grace 0',
  )
    .argument('<access-key-id>', 'the access key to replace')
    .option('--grace <span>', 'time for which the old one stays valid: 90s, 30m, 24h, 7d', parseSpan, 86_400)
    .addOption(outputOption())
    .action(
      makingSecret('/v1/credential/rotate', {
        send: (id: string, { grace }: { readonly grace: number }) => ({ access_key_id: id, grace_s: grace }),
        json: ({ credential }: CredentialAnswer, id) => ({ ...credential, replaced: id }),
        describe: ({ credential }, { clock }, id, { grace }) =>
          `${describeFresh(credential)}\n${showable(id)} is valid until ${formatMoment(wallSeconds(clock) + grace, '')}`,
      }),
    );
  newCommand(credential, 'revoke', 'Refuse an access key from now on, permanently.', 'AK123')
    .argument('<access-key-id>', 'the access key to refuse')
    .action(
      changing('/v1/credential/revoke', {
        send: (id: string) => ({ access_key_id: id }),
        describe: (_revoked, _context, id) => `${showable(id)} is revoked`,
      }),
    );
  addRemoveCommand(credential, 'credential', 'AK123', 'Remove an access key; it is refused from now on.');
}

interface CredentialAnswer {
  readonly credential: JsonObject;
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
