/** The running server of a data directory and the addresses of its listeners. */
import {
  formatListenAddress,
  parseListenAddress,
  reachableHere,
} from '../../server/config/settings-values.ts';
import { readRuntimeFile, type Runtime } from '../../server/bootstrap/runtime-file.ts';
import { livingPid } from '../../storage/lmdb/server-lock.ts';
import { CommandError } from '../shell/command-error.ts';
import type { CommandContext } from '../shell/command-context.ts';

/** Null when the store is at rest. Throws a CommandError while the server starts or stops. */
export function findRunningServer(dataDirectory: string): Runtime | null {
  const runtime = readRuntimeFile(dataDirectory);
  if (runtime !== null) return runtime;
  const pid = livingPid(dataDirectory);
  if (pid === null) return null;
  throw new CommandError(
    `the server of ${dataDirectory} (process ${pid}) is starting or stopping`,
    'try again in a moment',
  );
}

/** The local address of the API, `host:port`, and the path of its certificate; null: it has none. */
export function apiListener(context: CommandContext): { address: string; certFile: string | null } {
  const running = readRuntimeFile(context.dataDirectory);
  const certFile = running === null ? context.settings.api.tls_cert_file : (running.apiCertFile ?? null);
  return { address: listenerAddress(context, 'api'), certFile };
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
