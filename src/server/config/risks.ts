/**
 * Warns of risks in the settings: listeners open to other machines, and files with secrets that other users of this machine can read,
 * write or replace. Write access to the registry file creates devices and credentials; read access to a key allows to impersonate the
 * server. Files in the data directory are not checked, since every start restricts its mode. A group may read, because services often
 * receive keys that way, but not write.
 */
import { statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Log } from '../../lib/log.ts';
import type { Settings } from './settings-schema.ts';
import { formatListenAddress, isLoopback } from '../../lib/connections/listen-address.ts';
import { mediaUrl } from './derived-settings.ts';
import { settingKeys } from './settings.ts';

/** Wildcards: servers listen on them, but no client can connect to them. */
const anyAddress: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

export function reportRisks(
  { api, sleep, signal, media, ops, registry, webhooks }: Settings,
  log: Log,
): void {
  if (!isLoopback(api.listen) && api.tls_cert_file === null)
    log.warn({ listener: 'api' }, 'api: accepts requests from other machines without TLS');
  if (!isLoopback(signal.listen) && signal.tls_cert_file === null)
    log.warn({ listener: 'signal' }, 'signal: accepts controllers from other machines without TLS');
  if (!isLoopback(media.listen) && media.tls_cert_file === null)
    log.warn({ listener: 'media' }, 'media: accepts tokens and bridge keys from other machines without TLS');
  if (media.bridge_keys.length > 0)
    log.warn(
      { keys: media.bridge_keys.length },
      'media.bridge_keys: set: each key is a bridge of every application; for development only',
    );
  if (anyAddress.has(sleep.listen.host) && sleep.advertise.length === 0)
    log.warn(
      { told: formatListenAddress(sleep.listen) },
      'sleep server: its advertised address is a wildcard that no device can connect to; set sleep.advertise',
    );
  if (media.process === 'child' && anyAddress.has(media.listen.host) && media.advertise === null)
    log.warn(
      { told: mediaUrl({ media }, { process: 0, address: media.listen, advertise: null }) },
      'media: its advertised address is reachable from this machine only; set media.advertise',
    );
  if (media.process === 'elsewhere' && media.advertise === null)
    log.warn({}, 'media: the address of the media process elsewhere may be unknown; set media.advertise');
  if (!isLoopback(ops.listen))
    log.warn({ listener: 'ops' }, 'ops: probes and metrics are reachable from other machines');
  if (registry.allow_short_secrets)
    log.warn({}, 'registry.allow_short_secrets: set: short secrets can be guessed');
  if (webhooks.allow_local)
    log.warn({}, 'webhooks.allow_local: set: webhooks may reach loopback and private addresses');
}

export interface SecretFile {
  /** Setting with its path. */
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
/** Name of the key setting in each section with TLS. */
const tlsKey = 'tls_key_file';

/** Secret files named in the settings. */
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

/** The worst exposure of each file. Missing or unreadable files are reported by the code that needs them. */
export function findExposedFiles(files: readonly SecretFile[]): ExposedFile[] {
  if (process.platform === 'win32') return [];
  return files.flatMap((file) => {
    const worst = exposureOf(resolve(file.path));
    return worst === null ? [] : [{ ...file, ...worst }];
  });
}

/** Warns at the start and at every reload. LiveTokenKeys does so for the token keys. */
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

/** False: a parent directory is accessible to its owner only. */
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
