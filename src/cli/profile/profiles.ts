/**
 * The profiles of a user: servers elsewhere by name, each with what it takes to speak to it. They are one file in the user's
 * configuration directory. It holds secrets, so that it is written for its owner alone, and not read where others may read it.
 */
import { mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { z } from 'zod';
import { parseOrigin } from '../../client/http-transport.ts';
import { messageOf } from '../../lib/result.ts';
import { readTextFile } from '../../lib/text-file.ts';
import { isLoopback } from '../../model/settings-values.ts';
import { CommandError, reveilleCommand, usageError } from '../shell/command-error.ts';

export const profilesMax = 100;
const fileBytesMax = 1024 * 1024;
const textMax = 16 * 1024;

const text = z.string().min(1).max(textMax);
const origin = text.refine((given) => parseOrigin(given) !== null, 'is no origin like https://host:port');
const credential = z.strictObject({ access_key_id: text, secret_key: text, app_id: text });
const profile = z.strictObject({
  /** Origin of the ops listener, and a token of it. */
  ops: origin.optional(),
  token: text.optional(),
  /** Origin of the signed API, and a credential of it. */
  api: origin.optional(),
  credential: credential.optional(),
  /** Absolute path of the only certificates to be trusted. */
  ca: text.optional(),
});
export const profileName = /^[A-Za-z0-9_.-]{1,64}$/;
const profilesForm = z.strictObject({
  default: z.string().nullable(),
  profiles: z.record(z.string().regex(profileName), profile),
});

/** As a credential stands in a file. */
export type StoredCredential = Readonly<z.output<typeof credential>>;
export type Profile = Readonly<z.output<typeof profile>>;
export type Profiles = Readonly<z.output<typeof profilesForm>>;

export interface ChosenProfile extends Profile {
  readonly name: string;
  readonly chosenBy: 'option' | 'environment' | 'default';
}

type Environment = Readonly<Record<string, string | undefined>>;

/** `$XDG_CONFIG_HOME/reveille/profiles.json`, else below `%APPDATA%` or `~/.config`. */
export function profilesPath(env: Environment): string {
  const { XDG_CONFIG_HOME: xdg = '', APPDATA: appData = '' } = env;
  const own = process.platform === 'win32' && appData !== '' ? appData : join(homedir(), '.config');
  return join(isAbsolute(xdg) ? xdg : own, 'reveille', 'profiles.json');
}

/** None where there is no file. Throws a CommandError when it cannot be used. */
export function readProfiles(path: string): Profiles {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return { default: null, profiles: {} };
  if (stats.size > fileBytesMax) throw unusable(path, `it is larger than ${fileBytesMax} bytes`);
  const profiles = parseProfiles(path);
  const isOpen = process.platform !== 'win32' && (stats.mode & 0o077) !== 0;
  if (isOpen && Object.values(profiles.profiles).some(hasSecret))
    throw new CommandError(`others can read the secrets in ${path}`, `close it to them: chmod 600 ${path}`);
  return profiles;
}

function hasSecret({ token, credential: key }: Profile): boolean {
  return token !== undefined || key !== undefined;
}

function parseProfiles(path: string): Profiles {
  let given: unknown;
  try {
    given = JSON.parse(readTextFile(path));
  } catch (error) {
    // A parser quotes what it could not read, which may be a secret.
    throw unusable(path, error instanceof SyntaxError ? 'it is no JSON' : messageOf(error));
  }
  const parsed = profilesForm.safeParse(given);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw unusable(path, `${issue?.path.join('.')}: ${issue?.message}`);
}

function unusable(path: string, reason: string): CommandError {
  return new CommandError(`the profiles in ${path} cannot be used: ${reason}`, 'mend the file, or remove it');
}

/** Writes them whole or not at all. Throws a usage error where there would be too many. */
export function writeProfiles(path: string, profiles: Profiles): void {
  if (Object.keys(profiles.profiles).length > profilesMax)
    throw usageError(`there are ${profilesMax} profiles already: remove one first`);
  const own = `${path}.${process.pid}`;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  try {
    writeFileSync(own, `${JSON.stringify(profiles, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
    renameSync(own, path);
  } finally {
    rmSync(own, { force: true });
  }
}

/** Throws a usage error when there is none of this name. */
export function getProfile({ profiles }: Profiles, name: string): Profile {
  const found = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (found !== undefined) return found;
  throw usageError(
    `there is no profile ${JSON.stringify(name)}`,
    `see which there are: ${reveilleCommand('profile list')}`,
  );
}

/** A profile without its secrets. */
export function masked(profile: Profile): Profile {
  const { token, credential } = profile;
  return {
    ...profile,
    ...(token !== undefined && { token: '***' }),
    ...(credential !== undefined && { credential: { ...credential, secret_key: '***' } }),
  };
}

/** What was given of which server a command is for. */
export interface GivenPlace {
  /** Null: this machine, whatever else says. */
  readonly profile?: string | null | undefined;
  readonly config?: string | undefined;
  readonly dataDir?: string | undefined;
  readonly set?: readonly string[] | undefined;
}

/**
 * The profile that is meant; null: this machine. Options go before the environment, and that before the default of the
 * file. Throws a CommandError.
 */
export function chooseProfile(given: GivenPlace, env: Environment): ChosenProfile | null {
  const isLocal = given.config !== undefined || given.dataDir !== undefined || given.set !== undefined;
  if (typeof given.profile === 'string') {
    if (isLocal)
      throw usageError(
        '--profile is for a server elsewhere, and --data-dir, --config and --set for this machine',
      );
    return findProfile(given.profile, 'option', env);
  }
  if (isLocal || given.profile === null) return null;
  const named = env['REVEILLE_PROFILE'];
  if (named !== undefined) return named === '' ? null : findProfile(named, 'environment', env);
  if (env['REVEILLE_DATA_DIR'] !== undefined) return null;
  const { default: usual } = readProfiles(profilesPath(env));
  return usual === null ? null : findProfile(usual, 'default', env);
}

function findProfile(name: string, chosenBy: ChosenProfile['chosenBy'], env: Environment): ChosenProfile {
  const found = getProfile(readProfiles(profilesPath(env)), name);
  if (found.token !== undefined && found.ops !== undefined) refuseInClear(found.ops);
  return { ...found, name, chosenBy };
}

/** Throws a usage error for an origin at which a token would be read by anybody on the way. */
export function refuseInClear(ops: string): void {
  const { protocol, hostname, port } = new URL(ops);
  const host = hostname.replace(/^\[|\]$/g, '');
  if (protocol === 'https:' || isLoopback({ host, port: 0 })) return;
  const tunnel = `ssh -L ${port || 8090}:127.0.0.1:${port || 8090} ${host}`;
  throw usageError(
    `${ops}: the token would go over the network in the clear`,
    `ask over https, through a proxy with TLS (docs/proxy.md), or through a tunnel: ${tunnel}`,
  );
}
