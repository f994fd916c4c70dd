/** The server that has the data directory, if one has, and where it can be reached. */
import { formatListenAddress, parseListenAddress } from '../server/settings-values.ts';
import { readRuntimeFile, type Runtime } from '../server/runtime-file.ts';
import { livingPid } from '../store/server-lock.ts';
import { CommandError } from './command-error.ts';
import type { CommandContext } from './command-context.ts';

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

/** `host:port` of a listener: of the running server, else as the settings have it. */
export function listenerAddress(context: CommandContext, name: 'api' | 'sleep'): string {
  const running = readRuntimeFile(context.dataDirectory)?.listeners[name];
  return reachableAddress(running ?? formatListenAddress(context.settings[name].listen));
}

/** Every address is listened on as 0.0.0.0 or [::], and reached on this machine as a loopback one. */
export function reachableAddress(listener: string): string {
  const address = parseListenAddress(listener);
  if (address === null) throw new CommandError(`${listener} is no host:port`);
  const loopback = { '0.0.0.0': '127.0.0.1', '::': '::1' }[address.host];
  return formatListenAddress({ host: loopback ?? address.host, port: address.port });
}
