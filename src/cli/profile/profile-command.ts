/** `reveille profile …`: manages named remote servers, which `--profile` selects for any command. */
import { resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { messageOf } from '../../lib/result.ts';
import { readTextFile } from '../../lib/text-file.ts';
import { parseOriginOption } from '../api/api-access.ts';
import { readCredentialFile } from '../api/credential-source.ts';
import { newCommand, inContext, type CommandContext } from '../shell/command-context.ts';
import { optionOfForm } from '../shell/option-values.ts';
import { CommandError, usageError } from '../shell/command-error.ts';
import { tableOf } from '../shell/output.ts';
import { trustingAuthority } from '../shell/server-trust.ts';
import {
  getProfile,
  masked,
  profileName,
  profilesPath,
  readProfiles,
  refuseInClear,
  writeProfiles,
  type Profile,
} from './profiles.ts';

interface AddOptions {
  readonly ops: string;
  readonly tokenFile: string;
  readonly url?: string;
  readonly credential?: string;
  readonly api?: string;
  readonly credentialFile?: string;
  readonly ca?: string;
  readonly replace?: boolean;
}

export function addProfileCommand(program: Command): void {
  const profile = program
    .command('profile')
    .description(
      'Manage named remote servers, with addresses and secrets, for --profile NAME or REVEILLE_PROFILE=NAME.',
    );
  newCommand(
    profile,
    'add',
    'Add a server: its ops listener with a token, and its API with a credential.',
    'prod --ops https://ops.example:8090 --token-file - --url https://reveille.example --credential key.json',
  )
    .addHelpText('after', '  $ reveille status DOOR-1 --profile prod')
    .argument('<name>', '1-64 characters of A-Z a-z 0-9 _ . -', parseName)
    .requiredOption('--ops <origin>', 'its ops listener, like https://ops.example:8090', parseOriginOption)
    .requiredOption('--token-file <file>', 'file with a token of its ops listener; - for standard input')
    .option('--url <origin>', 'its signed API, like https://reveille.example', parseOriginOption)
    .option('--credential <file>', 'the access key that signs: JSON, as credential create --output writes it')
    .addOption(
      new Option('--api <origin>', 'the former name of --url').argParser(parseOriginOption).hideHelp(),
    )
    .addOption(new Option('--credential-file <file>', 'the former name of --credential').hideHelp())
    .option('--ca <file>', 'PEM file; only its certificates are trusted; read at each use')
    .option('--replace', 'replace the profile of this name')
    .action(inContext(addProfile));
  newCommand(profile, 'list', 'List the profiles; secrets are masked.').action(inContext(listProfiles));
  newCommand(
    profile,
    'remove',
    'Remove a profile and its secrets. Its token and its credential stay valid at the server.',
    'prod',
  )
    .argument('<name>', 'the profile', parseName)
    .action(inContext(removeProfile));
}

const parseName = optionOfForm(profileName, 'Expected 1-64 characters of A-Z a-z 0-9 _ . -');

function addProfile({ output, settingsSources }: CommandContext, name: string, options: AddOptions): void {
  const { ops, tokenFile, ca } = options;
  const api = options.url ?? options.api;
  const credentialFile = options.credential ?? options.credentialFile;
  if ((api === undefined) !== (credentialFile === undefined))
    throw usageError('--url and --credential are given together');
  refuseInClear(ops);
  if (ca !== undefined) trustingAuthority(ca);
  const added: Profile = {
    ops,
    token: readToken(tokenFile),
    ...(api !== undefined && { api }),
    ...(credentialFile !== undefined && { credential: readCredentialFile(credentialFile) }),
    ...(ca !== undefined && { ca: resolve(ca) }),
  };
  const path = profilesPath(settingsSources.env);
  const profiles = readProfiles(path);
  if (options.replace !== true && Object.hasOwn(profiles, name))
    throw new CommandError(`the profile ${name} exists already`, 'replace it with --replace');
  writeProfiles(path, { ...profiles, [name]: added });
  output.answer({ name, ...masked(added) }, `added ${name}, for --profile ${name}; it is stored in ${path}`);
}

/** A token of the ops listener: printable ASCII without blanks. */
const tokenForm = /^[\x21-\x7e]{1,1024}$/;

function readToken(file: string): string {
  const token = tokenOf(readText(file).trim());
  if (tokenForm.test(token)) return token;
  throw new CommandError(
    `${file === '-' ? 'standard input' : file} has no token`,
    'it must contain only the token that reveille token create printed or wrote',
  );
}

/** Also reads the JSON that `token create --output` writes. */
function tokenOf(text: string): string {
  if (!text.startsWith('{')) return text;
  try {
    return String((JSON.parse(text) as { readonly token?: unknown }).token);
  } catch {
    return '';
  }
}

function readText(file: string): string {
  try {
    return readTextFile(file === '-' ? 0 : file);
  } catch (error) {
    throw new CommandError(`the token file ${file} cannot be read: ${messageOf(error)}`);
  }
}

function listProfiles({ output, settingsSources }: CommandContext): void {
  const profiles = Object.entries(readProfiles(profilesPath(settingsSources.env)));
  const shown = profiles.map(([name, profile]) => ({ name, ...masked(profile) }));
  const table = tableOf(profiles, {
    NAME: ([name]) => name,
    OPS: ([, { ops }]) => ops,
    API: ([, { api }]) => api,
    'ACCESS KEY': ([, { credential }]) => credential?.access_key_id,
  });
  output.answer({ profiles: shown }, profiles.length === 0 ? 'no profiles' : table);
}

function removeProfile({ output, settingsSources }: CommandContext, name: string): void {
  const path = profilesPath(settingsSources.env);
  const before = readProfiles(path);
  getProfile(before, name);
  const { [name]: _removed, ...profiles } = before;
  writeProfiles(path, profiles);
  output.answer(
    { removed: name },
    `${name} is removed; its token and its credential are still valid at the server`,
  );
}
