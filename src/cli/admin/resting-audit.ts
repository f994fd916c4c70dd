/** Changes of a store at rest, in the audit log of its directory. Only whoever holds the directory's lock writes there. */
import { userInfo } from 'node:os';
import type { Clock } from '../../lib/clock.ts';
import type { AuditAction, AuditIds, AuditOutcome } from '../../model/audit.ts';
import { AuditLog } from '../../storage/audit/audit-log.ts';
import { prepareDataDirectory } from '../../storage/lmdb/data-directory.ts';
import { ServerLock } from '../../storage/lmdb/server-lock.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { CommandError } from '../shell/command-error.ts';

export class RestingAudit {
  readonly #log: AuditLog;

  constructor(directory: string, clock: Clock) {
    this.#log = new AuditLog({
      directory,
      clock,
      told: () => undefined,
      lost: (_line, reason) =>
        process.stderr.write(`the result of this change is not in the audit log: ${reason}\n`),
    });
  }

  /** Rejects with an AuditRefusal, and changes nothing, when the log cannot be written. */
  record<Result>(
    action: AuditAction,
    ids: AuditIds,
    act: () => Promise<Result>,
    outcomeOf: (result: Result) => AuditOutcome = () => ({ result: 'ok' }),
  ): Promise<Result> {
    const who = { operator: 'cli', role: null, user: userName(), from: `pid ${process.pid}` };
    return this.#log.record({ ...who, action, ids }, act, outcomeOf, faultOf);
  }
}

/** A change of a file beside the store. Holds off a server that would start meanwhile, and another command. */
export async function changeAtRest<Result>(
  { clock, dataDirectory }: Pick<CommandContext, 'clock' | 'dataDirectory'>,
  change: (audit: RestingAudit) => Promise<Result>,
): Promise<Result> {
  const { directory } = prepareDataDirectory(dataDirectory);
  const lock = new ServerLock(directory);
  try {
    return await change(new RestingAudit(directory, clock));
  } finally {
    lock.release();
  }
}

/** What a command says in a sentence of ours has no secret in it. */
function faultOf(error: unknown): AuditOutcome {
  if (error instanceof CommandError) return { result: 'refused', reason: error.message };
  return { result: 'failed', reason: 'internal error' };
}

/** A container may run as a user that has no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
}
