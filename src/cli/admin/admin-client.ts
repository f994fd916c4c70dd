/** How a command reaches what it asks or changes: the running server of the data directory, else its store at rest. */
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

/** For what no store at rest can do. Throws a CommandError where no server runs: `reason` goes on with that sentence. */
export function serverClient(
  { dataDirectory }: Pick<CommandContext, 'dataDirectory'>,
  reason: string,
  advice: string,
): OpsClient {
  const ops = findOpsClient(dataDirectory);
  if (ops !== null) return ops;
  throw new CommandError(`no server runs on ${dataDirectory}${reason}`, advice);
}

/** Adds the advice to a refusal that has none; where the server could not answer it would be of no help. */
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
