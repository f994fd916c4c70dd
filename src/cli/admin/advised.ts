/** What to do next, said with whatever a server or a store refuses. */
import { CommandError } from '../shell/command-error.ts';
import { OpsUnavailableError } from './ops-client.ts';

/** Adds the advice to a refusal that has none; a server that could not answer is not helped by it. */
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
