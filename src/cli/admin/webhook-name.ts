/** Which webhook a command is about, and the running server that serves it. */
import { CommandError } from '../shell/command-error.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { findOpsClient, type OpsClient } from './ops-client.ts';

export interface NameOptions {
  /** Application; absent: the only one that has the URL. */
  readonly app?: string;
}

/** As the ops listener takes it. */
export function webhookName(
  url: string,
  { app }: NameOptions,
): { readonly url: string; readonly app_id?: string } {
  return { url, ...(app !== undefined && { app_id: app }) };
}

/** Throws a CommandError when there is none: only a running server sends anything. */
export function servingOps({ dataDirectory }: CommandContext): OpsClient {
  const ops = findOpsClient(dataDirectory);
  if (ops !== null) return ops;
  throw new CommandError(
    `no server runs on ${dataDirectory}, and only a running one sends to webhooks`,
    'start it, or name the data directory of the running one with --data-dir',
  );
}
