/**
 * Risks in the settings that an operator should know before they matter: listeners that are open too wide, and files with
 * secrets that other users of this machine can read, write or replace. A writer of the registry file makes devices and
 * credentials, a reader of a key can pose as the server. The data directory is closed at every start, so its files are not
 * checked. A group may read, because that is how keys are handed to a service; it may not write.
 */
import { statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Log } from '../../lib/log.ts';
import type { Settings } from './settings-schema.ts';
import { formatListenAddress, isLoopback } from '../../lib/connections/listen-address.ts';
import { mediaUrl } from './derived-settings.ts';
import { settingKeys } from './settings.ts';

/** To listen on them is to listen on every address; none of them is one to connect to. */
const anyAddress: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** Warns once, at the start. */
export function reportRisks(
  { api, sleep, signal, media, ops, registry, webhooks }: Settings,
  log: Log,
): void {
  if (!isLoopback(api.listen) && api.tls_cert_file === null)
    log.warn({ listener: 'api' }, 'signed calls come from beyond this machine without TLS');
  if (!isLoopback(signal.listen) && signal.tls_cert_file === null)
    log.warn({ listener: 'signal' }, 'controllers connect from beyond this machine without TLS');
  if (!isLoopback(media.listen) && media.tls_cert_file === null)
    log.warn({ listener: 'media' }, 'tokens and bridge keys come from beyond this machine without TLS');
  if (media.bridge_keys.length > 0)
    log.warn(
      { keys: media.bridge_keys.length },
      'development keys make a bridge of any application: media.bridge_keys',
    );
  if (anyAddress.has(sleep.listen.host) && sleep.advertise.length === 0)
    log.warn(
      { told: formatListenAddress(sleep.listen) },
      'controllers are told a sleep server that nobody can connect to: set sleep.advertise',
    );
  if (media.process === 'child' && anyAddress.has(media.listen.host) && media.advertise === null)
    log.warn(
      { told: mediaUrl({ media }, { process: 0, address: media.listen, advertise: null }) },
      'devices are told a media listener that only this machine can connect to: set media.advertise',
    );
  if (media.process === 'elsewhere' && media.advertise === null)
    log.warn({}, 'devices may not be told where the media process elsewhere listens: set media.advertise');
  if (!isLoopback(ops.listen))
    log.warn({ listener: 'ops' }, 'probes and metrics are open to more than this machine');
  if (registry.allow_short_secrets)
    log.warn({}, 'secrets may be short enough to be guessed: registry.allow_short_secrets');
  if (webhooks.allow_local)
    log.warn({}, 'webhooks may go to loopback and private addresses: webhooks.allow_local');
}

export interface SecretFile {
  /** The setting that names it. */
  readonly name: string;
  readonly path: string;
}

export interface ExposedFile extends SecretFile {
  readonly found: string;
  readonly advice: string;
}

const tokenKeysFile = 'calls.token_keys_file';
const secretFiles: ReadonlySet<string> = new Set([
  'registry.file',
  tokenKeysFile,
  'media.link_key_file',
  'edges.key_file',
  'edge.key_file',
  'cluster.nats_credentials',
]);
/** The key of every certificate. */
const tlsKey = 'tls_key_file';

/** Those that are named. */
export function secretFilesOf(settings: Settings): SecretFile[] {
  return settingKeys
    .filter(({ name, key }) => secretFiles.has(name) || key === tlsKey)
    .flatMap(({ section, key, name }) => {
      const values: Readonly<Record<string, unknown>> = settings[section as keyof Settings];
      const path = values[key];
      return typeof path === 'string' ? [{ name, path }] : [];
    });
}

const writeBits = 0o022;
const readByAllBit = 0o004;
const passBits = 0o011;
const stickyBit = 0o1000;

/** The worst exposure of each file. One that is missing or unreadable is reported by the code that needs it. */
export function findExposedFiles(files: readonly SecretFile[]): ExposedFile[] {
  if (process.platform === 'win32') return [];
  return files.flatMap((file) => {
    const worst = exposureOf(resolve(file.path));
    return worst === null ? [] : [{ ...file, ...worst }];
  });
}

/** Warns at the start and at every reload; for the token keys LiveTokenKeys does, which reads them. */
export function reportExposedFiles(settings: Settings, log: Log): void {
  const files = secretFilesOf(settings).filter(({ name }) => name !== tokenKeysFile);
  for (const { name, path, found, advice } of findExposedFiles(files))
    log.warn({ setting: name, file: path }, `${name} ${found}: ${advice}`);
}

function exposureOf(path: string): Omit<ExposedFile, keyof SecretFile> | null {
  const mode = modeOf(path);
  const directory = dirname(path);
  const directoryMode = modeOf(directory);
  if (mode === null || directoryMode === null || !letsOthersPass(directory)) return null;
  if ((mode & writeBits) !== 0)
    return { found: `can be written by other users (mode ${shown(mode)})`, advice: `chmod go-w ${path}` };
  if ((directoryMode & writeBits) !== 0 && (directoryMode & stickyBit) === 0)
    return {
      found: `can be replaced by other users (its directory has mode ${shown(directoryMode)})`,
      advice: `chmod go-w ${directory}`,
    };
  if ((mode & readByAllBit) !== 0)
    return { found: `can be read by every user (mode ${shown(mode)})`, advice: `chmod o-r ${path}` };
  return null;
}

/** False: one of the directories above is its owner's alone. */
function letsOthersPass(directory: string): boolean {
  const above = dirname(directory);
  return ((modeOf(directory) ?? 0) & passBits) !== 0 && (above === directory || letsOthersPass(above));
}

function modeOf(path: string): number | null {
  try {
    return statSync(path).mode & 0o7777;
  } catch {
    return null;
  }
}

function shown(mode: number): string {
  return mode.toString(8).padStart(4, '0');
}
