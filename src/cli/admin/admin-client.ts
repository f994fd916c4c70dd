/** The client of a command: of the running server on the data directory, else of the store at rest. */
import { CommandError } from '../shell/command-error.ts';
import type { CommandContext } from '../shell/command-context.ts';
import {
  findOpsClient,
  OpsUnavailableError,
  opsClientOf,
  type AdminClient,
  type OpsClient,
} from './ops-client.ts';
import { findRunningServer } from './running-server.ts';
import { StoreClient } from './store-client.ts';
import type { StoreContext } from './store-queries.ts';

/** Throws a CommandError while the server starts or stops. */
export function adminClient(
  context: StoreContext,
  running = findRunningServer(context.dataDirectory),
): AdminClient {
  return running === null ? new StoreClient(context) : opsClientOf(running, context.dataDirectory);
}

/** The client for what only a running server can do. Throws a CommandError where none runs; `reason` ends its sentence. */
export function serverClient(
  { dataDirectory }: Pick<CommandContext, 'dataDirectory'>,
  reason: string,
  advice: string,
): OpsClient {
  const ops = findOpsClient(dataDirectory);
  if (ops !== null) return ops;
  throw new CommandError(`no server runs on ${dataDirectory}${reason}`, advice);
}

/** Adds the advice to a refusal that has none, unless the server could not answer at all. */
export async function advised<Result>(advice: string, act: () => Promise<Result>): Promise<Result> {
  try {
    return await act();
  } catch (error) {
    if (!isBareRefusal(error)) throw error;
    throw new CommandError(error.message, advice, error.exitCode);
  }
}

function isBareRefusal(error: unknown): error is CommandError {
  return error instanceof CommandError && !(error instanceof OpsUnavailableError) && error.advice === null;
}
