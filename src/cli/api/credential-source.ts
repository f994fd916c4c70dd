/**
 * Finds the credential that signs a request: from a file, the profile or the environment, or else the first suitable one of the
 * local registry. The commands that use it never print it.
 */
import type { Command } from 'commander';
import { wallSeconds } from '../../lib/clock.ts';
import { messageOf } from '../../lib/result.ts';
import { readJsonFile } from '../../lib/text-file.ts';
import { hasPermission, isCredentialValid, type Credential, type Permission } from '../../model/registry.ts';
import type { SigningCredential } from '../../protocol/tgv1/sign-request.ts';
import type { StoredCredential } from '../profile/profiles.ts';
import type { CommandContext } from '../shell/command-context.ts';
import type { SettingsSources } from '../../server/config/settings.ts';
import { CommandError, reveilleCommand, usageError } from '../shell/command-error.ts';
import { entriesOf, withRegistry, type LocalRegistry } from '../admin/local-registry.ts';

export interface CredentialOptions {
  readonly credential?: string;
}

export interface CredentialNeed {
  readonly permissions: readonly Permission[];
  /** Prefers a credential of an application that has this device's product; null: no preference. */
  readonly deviceId: string | null;
}

export function addCredentialOption(command: Command): Command {
  return command.option(
    '--credential <file>',
    'the access key that signs: JSON, as credential create --output writes it',
  );
}

/** Throws a CommandError if there is none. */
export async function findCredential(
  context: CommandContext,
  options: CredentialOptions,
  need: CredentialNeed,
): Promise<SigningCredential> {
  if (options.credential !== undefined) return toSigning(readCredentialFile(options.credential));
  const { profile, settingsSources } = context;
  if (profile?.credential !== undefined) return toSigning(profile.credential);
  const found = credentialOfEnvironment(settingsSources.env);
  if (found !== null) return found;
  if (profile === null) return findInRegistry(context, need);
  throw new CommandError(
    `the profile ${profile.name} has no credential to sign with`,
    'give one with --credential FILE, or add the profile again with --url and --credential',
  );
}

export function toSigning({ access_key_id, secret_key, app_id }: StoredCredential): SigningCredential {
  return { accessKeyId: access_key_id, secretKey: secret_key, appId: app_id };
}

/** Null: not set. Throws a usage error if only some of its variables are set. */
function credentialOfEnvironment(env: SettingsSources['env']): SigningCredential | null {
  const names = ['REVEILLE_ACCESS_KEY_ID', 'REVEILLE_SECRET_KEY', 'REVEILLE_APP_ID'] as const;
  const [accessKeyId = '', secretKey = '', appId = ''] = names.map((name) => env[name]);
  const missing = names.filter((name) => (env[name] ?? '') === '');
  if (missing.length === names.length) return null;
  if (missing.length === 0) return { accessKeyId, secretKey, appId };
  throw usageError(`${missing.join(' and ')} is missing: set all of ${names.join(', ')}, or none`);
}

/** Throws a CommandError if the file holds no credential. */
export function readCredentialFile(path: string): StoredCredential {
  let given: unknown;
  try {
    given = readJsonFile(path);
  } catch (error) {
    throw new CommandError(`the credential file ${path} cannot be read: ${messageOf(error)}`);
  }
  const { access_key_id, secret_key, app_id } = Object(given) as Record<string, unknown>;
  if (typeof access_key_id !== 'string' || typeof secret_key !== 'string' || typeof app_id !== 'string')
    throw new CommandError(
      `${path} must hold the texts access_key_id, secret_key and app_id`,
      `as ${reveilleCommand('credential create --app APP --output FILE')} writes them`,
    );
  return { access_key_id, secret_key, app_id };
}

async function findInRegistry(context: CommandContext, need: CredentialNeed): Promise<SigningCredential> {
  const nowS = wallSeconds(context.clock);
  const found = await withRegistry(context.dataDirectory, (registry) =>
    chooseCredential(registry, need, nowS),
  );
  if (found !== null) return found;
  const withAll = need.permissions.length === 0 ? '' : ` with ${need.permissions.join(' and ')}`;
  throw new CommandError(
    `the registry in ${context.dataDirectory} has no valid credential${withAll}`,
    `create one: ${reveilleCommand('credential create --app APP')}, or give one with --credential FILE`,
  );
}

/** The first credential that is valid now and has the permissions, preferably of an application that has the device. */
export async function chooseCredential(
  registry: Pick<LocalRegistry, 'find' | 'export'>,
  { permissions, deviceId }: CredentialNeed,
  nowS: number,
): Promise<Credential | null> {
  const device = deviceId === null ? null : await registry.find('device', deviceId);
  const product = device === null ? null : await registry.find('product', String(device['product_id']));
  const appIds = product === null ? null : (product['app_ids'] as readonly string[]);
  let secondBest: Credential | null = null;
  for await (const credential of entriesOf(registry, 'credential')) {
    if (!isCredentialValid(credential, nowS)) continue;
    if (!permissions.every((permission) => hasPermission(credential, permission))) continue;
    if (appIds === null || appIds.includes(credential.appId)) return credential;
    secondBest ??= credential;
  }
  return secondBest;
}
