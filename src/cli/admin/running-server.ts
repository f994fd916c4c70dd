/**
 * Finds the server that a command addresses: the one running on the data directory, with its listeners and the token of the
 * directory, or the remote one of a profile.
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

/** Null: the store is at rest. Throws an OpsUnavailableError while the server starts or stops. */
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

/** Path of a listener's certificate, from the running server or else from the settings; null: no TLS. */
export function listenerCertFile(context: CommandContext, name: TlsListener): string | null {
  const certFiles = readRuntimeFile(context.dataDirectory)?.certFiles ?? certFilesOf(context.settings);
  return certFiles[name] ?? null;
}

/** `host:port` of a listener, from the running server or else from the settings. */
export function listenerAddress(context: CommandContext, name: 'api' | 'sleep'): string {
  const running = readRuntimeFile(context.dataDirectory)?.listeners[name];
  return reachableAddress(running ?? formatListenAddress(context.settings[name].listen));
}

/** `host:port` at which this machine reaches a listener, wildcard addresses replaced. Throws a CommandError. */
export function reachableAddress(listener: string): string {
  const address = parseListenAddress(listener);
  if (address === null) throw new CommandError(`${listener} is not host:port`);
  return formatListenAddress(reachableHere(address));
}

/**
 * The client of the profile's server, or else of the server on the data directory; null: the store is at rest. Throws a
 * CommandError like `findRunningServer` and `opsClientOf`.
 */
export function findOpsClient(context: ServerPlace): OpsClient | null {
  if (context.profile !== null) return profileClient(context.profile);
  const running = findRunningServer(context.dataDirectory);
  return running === null ? null : opsClientOf(running, context.dataDirectory);
}

type ServerPlace = Pick<CommandContext, 'profile' | 'dataDirectory'>;

/** As `findOpsClient`; throws an OpsUnavailableError if no server runs. */
export function opsClient(context: ServerPlace): OpsClient {
  const ops = findOpsClient(context);
  if (ops !== null) return ops;
  throw new OpsUnavailableError(
    `${absenceOn(context.dataDirectory)}, and this command needs a running one`,
    `start it: ${reveilleCommand('serve')}; or name another data directory with --data-dir`,
  );
}

/** The message when no server runs on the directory, or when another user's directory hides it. */
export function absenceOn(dataDirectory: string): string {
  try {
    accessSync(dataDirectory, constants.R_OK | constants.X_OK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      return `${dataDirectory} cannot be read, so a server on it cannot be found`;
  }
  return `no server runs on ${dataDirectory}`;
}

function profileClient({ ops, token, ca }: ChosenProfile): OpsClient {
  const trust = ca === undefined ? undefined : trustingAuthority(ca);
  return new OpsClient(ops, token, { name: `the server at ${ops}`, trust });
}

/** Throws a CommandError if the directory has no token. */
export function opsClientOf(runtime: Runtime, dataDirectory: string): OpsClient {
  const listener = runtime.listeners['ops'];
  const token = findOpsToken(dataDirectory);
  if (listener === undefined || token === null)
    throw new CommandError(
      `the running server (process ${runtime.pid}) cannot be managed: ${dataDirectory} has no ops.token`,
      'restart it',
    );
  const name = `the running server (process ${runtime.pid})`;
  return new OpsClient(`http://${reachableAddress(listener)}`, token, { name });
}
