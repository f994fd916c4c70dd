/**
 * The running server of a data directory: the addresses of its listeners, and the client of its ops listener, with the
 * token of the directory; or that of the server elsewhere which a profile names.
 */
import { accessSync, constants } from 'node:fs';
import {
  formatListenAddress,
  parseListenAddress,
  reachableHere,
} from '../../lib/connections/listen-address.ts';
import {
  certFilesOf,
  readRuntimeFile,
  type Runtime,
  type TlsListener,
} from '../../server/bootstrap/runtime-file.ts';
import { livingPid } from '../../storage/lmdb/data-directory.ts';
import { CommandError, reveilleCommand } from '../shell/command-error.ts';
import { trustingAuthority } from '../shell/server-trust.ts';
import type { ChosenProfile } from '../profile/profiles.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { findOpsToken } from '../../gateways/ops/ops-token.ts';
import { OpsClient } from './ops-client.ts';
import { OpsUnavailableError } from './ops-refusal.ts';

/** Null when the store is at rest. Throws an OpsUnavailableError while the server starts or stops. */
export function findRunningServer(dataDirectory: string): Runtime | null {
  const runtime = readRuntimeFile(dataDirectory);
  if (runtime !== null) return runtime;
  const pid = livingPid(dataDirectory);
  if (pid === null) return null;
  throw new OpsUnavailableError(
    `the server of ${dataDirectory} (process ${pid}) is starting or stopping`,
    'try again in a moment',
  );
}

/** The path of a listener's certificate: of the running server, else of the settings; null: it has none. */
export function listenerCertFile(context: CommandContext, name: TlsListener): string | null {
  const certFiles = readRuntimeFile(context.dataDirectory)?.certFiles ?? certFilesOf(context.settings);
  return certFiles[name] ?? null;
}

/** `host:port` of a listener: of the running server, else of the settings. */
export function listenerAddress(context: CommandContext, name: 'api' | 'sleep'): string {
  const running = readRuntimeFile(context.dataDirectory)?.listeners[name];
  return reachableAddress(running ?? formatListenAddress(context.settings[name].listen));
}

/** `host:port` by which this machine reaches one of its listeners. Throws a CommandError. */
export function reachableAddress(listener: string): string {
  const address = parseListenAddress(listener);
  if (address === null) throw new CommandError(`${listener} is no host:port`);
  return formatListenAddress(reachableHere(address));
}

/**
 * The client of the server that is meant: that of the profile, else the one on the data directory; null when that is at rest.
 * Throws a CommandError like `findRunningServer` and `opsClientOf`.
 */
export function findOpsClient(context: ServerPlace): OpsClient | null {
  if (context.profile !== null) return profileClient(context.profile);
  const running = findRunningServer(context.dataDirectory);
  return running === null ? null : opsClientOf(running, context.dataDirectory);
}

type ServerPlace = Pick<CommandContext, 'profile' | 'dataDirectory'>;

/** The same; throws an OpsUnavailableError where no server runs. */
export function opsClient(context: ServerPlace): OpsClient {
  const ops = findOpsClient(context);
  if (ops !== null) return ops;
  throw new OpsUnavailableError(
    `${absenceOn(context.dataDirectory)}, and this command works through a running one`,
    `start it: ${reveilleCommand('serve')}; or name the data directory of another with --data-dir`,
  );
}

/** The sentence for a directory without a running server; another user's directory does not show its server. */
export function absenceOn(dataDirectory: string): string {
  try {
    accessSync(dataDirectory, constants.R_OK | constants.X_OK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      return `${dataDirectory} cannot be read, so no server on it can be asked`;
  }
  return `no server runs on ${dataDirectory}`;
}

function profileClient({ ops, token, ca }: ChosenProfile): OpsClient {
  const trust = ca === undefined ? undefined : trustingAuthority(ca);
  return new OpsClient(ops, token, { name: `the server at ${ops}`, trust });
}

/** Throws a CommandError when the directory has no token. */
export function opsClientOf(runtime: Runtime, dataDirectory: string): OpsClient {
  const listener = runtime.listeners['ops'];
  const token = findOpsToken(dataDirectory);
  if (listener === undefined || token === null)
    throw new CommandError(
      `the running server (process ${runtime.pid}) cannot be administrated: ${dataDirectory} has no ops.token`,
      'restart it',
    );
  const name = `the running server (process ${runtime.pid})`;
  return new OpsClient(`http://${reachableAddress(listener)}`, token, { name });
}
