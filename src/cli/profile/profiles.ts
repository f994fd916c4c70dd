/**
 * The profiles of a user: named remote servers, each with its addresses and secrets. They are stored in one file of the user's
 * configuration directory, with mode 0600; a file that others can read is refused.
 */
import { mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { z } from 'zod';
import { parseOrigin } from '../../client/origin.ts';
import { messageOf } from '../../lib/result.ts';
import { readJsonFile } from '../../lib/text-file.ts';
import { isLoopback } from '../../lib/connections/listen-address.ts';
import { CommandError, reveilleCommand, usageError } from '../shell/command-error.ts';

const fileBytesMax = 1024 * 1024;
const textMax = 16 * 1024;

const text = z.string().min(1).max(textMax);
const origin = text.refine((given) => parseOrigin(given) !== null, 'is not an origin like https://host:port');
const credential = z.strictObject({ access_key_id: text, secret_key: text, app_id: text });
const profile = z
  .strictObject({
    /** Origin of the ops listener, and a token for it. */
    ops: origin,
    token: text,
    /** Origin of the signed API, and a credential for it: both or neither. */
    api: origin.optional(),
    credential: credential.optional(),
    /** Absolute path of a PEM file; only these certificates are trusted. */
    ca: text.optional(),
  })
  .refine(
    ({ api, credential: key }) => (api === undefined) === (key === undefined),
    'api and credential must both be given, or neither',
  );
export const profileName = /^[A-Za-z0-9_.-]{1,64}$/;
const profilesForm = z.record(z.string().regex(profileName), profile);

export type StoredCredential = Readonly<z.output<typeof credential>>;
export type Profile = Readonly<z.output<typeof profile>>;
export type Profiles = Readonly<z.output<typeof profilesForm>>;

export interface ChosenProfile extends Profile {
  readonly name: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** `$XDG_CONFIG_HOME/reveille/profiles.json`, else below `%APPDATA%` or `~/.config`. */
export function profilesPath(env: Environment): string {
  const { XDG_CONFIG_HOME: xdg = '', APPDATA: appData = '' } = env;
  const own = process.platform === 'win32' && appData !== '' ? appData : join(homedir(), '.config');
  return join(isAbsolute(xdg) ? xdg : own, 'reveille', 'profiles.json');
}

/** Empty if there is no file. Throws a CommandError if the file cannot be used. */
export function readProfiles(path: string): Profiles {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return {};
  if (stats.size > fileBytesMax) throw unusable(path, `it is larger than ${fileBytesMax} bytes`);
  if (process.platform !== 'win32' && (stats.mode & 0o077) !== 0)
    throw new CommandError(`others can read the secrets in ${path}`, `restrict it: chmod 600 ${path}`);
  return parseProfiles(path);
}

function parseProfiles(path: string): Profiles {
  let given: unknown;
  try {
    given = readJsonFile(path);
  } catch (error) {
    throw unusable(path, messageOf(error));
  }
  const parsed = profilesForm.safeParse(given);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw unusable(path, `${issue?.path.join('.')}: ${issue?.message}`);
}

function unusable(path: string, reason: string): CommandError {
  return new CommandError(
    `the profiles in ${path} cannot be used: ${reason}`,
    'correct the file, or remove it',
  );
}

export function writeProfiles(path: string, profiles: Profiles): void {
  const own = `${path}.${process.pid}`;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  try {
    writeFileSync(own, `${JSON.stringify(profiles, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
    renameSync(own, path);
  } finally {
    rmSync(own, { force: true });
  }
}

/** Throws a usage error if there is no such profile. */
export function getProfile(profiles: Profiles, name: string): Profile {
  const found = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (found !== undefined) return found;
  throw usageError(
    `there is no profile ${JSON.stringify(name)}`,
    `list them: ${reveilleCommand('profile list')}`,
  );
}

export function masked(profile: Profile): Profile {
  const { credential } = profile;
  return {
    ...profile,
    token: '***',
    ...(credential !== undefined && { credential: { ...credential, secret_key: '***' } }),
  };
}

export interface GivenPlace {
  readonly profile?: string | undefined;
  readonly config?: string | undefined;
  readonly dataDir?: string | undefined;
  readonly set?: readonly string[] | undefined;
}

/** The selected profile; null: this machine. Options take precedence over the environment. Throws a CommandError. */
export function chooseProfile(given: GivenPlace, env: Environment): ChosenProfile | null {
  const isLocal = given.config !== undefined || given.dataDir !== undefined || given.set !== undefined;
  if (isLocal && given.profile !== undefined)
    throw usageError(
      '--profile selects a remote server, --data-dir, --config and --set this machine: use one or the other',
    );
  const name = isLocal ? '' : (given.profile ?? env['REVEILLE_PROFILE'] ?? '');
  if (name === '') return null;
  const found = getProfile(readProfiles(profilesPath(env)), name);
  refuseInClear(found.ops);
  return { ...found, name };
}

/** Throws a usage error for an origin without TLS on another machine, where the token could be read on the network. */
export function refuseInClear(ops: string): void {
  const { protocol, hostname, port } = new URL(ops);
  const host = hostname.replace(/^\[|\]$/g, '');
  if (protocol === 'https:' || isLoopback({ host, port: 0 })) return;
  const tunnel = `ssh -L ${port || 8090}:127.0.0.1:${port || 8090} ${host}`;
  throw usageError(
    `${ops}: the token would be sent over the network unencrypted`,
    `use https, a proxy with TLS (docs/proxy.md), or a tunnel: ${tunnel}`,
  );
}
