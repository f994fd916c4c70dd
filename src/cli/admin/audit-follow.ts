/**
 * Follows the audit log across rotations, in the files of this machine or at a server elsewhere. A line is shown once, when its result is known; one whose change takes very
 * long, or whose server was killed, is shown as it is.
 */
import type { Clock } from '../../lib/clock.ts';
import type { AuditLine } from '../../model/audit.ts';
import { auditFollowMs, auditResultMsMax } from '../../model/limits.ts';
import type { AuditFiles, PlacedLine } from '../../storage/audit/audit-files.ts';
import type { AuditAnswer } from '../../gateways/admin/audit-routes.ts';
import { pauseUnless } from '../shell/command-context.ts';
import { OpsUnavailableError } from './ops-client.ts';

export interface Following {
  readonly clock: Clock;
  /** Read up to where following begins. */
  readonly files: AuditFiles;
  readonly show: (line: AuditLine) => void;
}

interface Unsettled extends PlacedLine {
  readonly sinceMs: number;
}

/** The file that is written, and the one before, which may have lines of changes under way. */
const filesOpen = 2;

/** Resolves when `signal` is aborted. */
export async function followAudit({ clock, files, show }: Following, signal: AbortSignal): Promise<void> {
  let unsettled: readonly Unsettled[] = [];
  while (!signal.aborted) {
    const nowMs = clock.monotonicMs();
    const fresh: Unsettled[] = [];
    for await (const placed of files.read()) fresh.push({ ...placed, sinceMs: nowMs });
    unsettled = await settle([...unsettled, ...fresh], nowMs, show);
    await files.closeOld(filesOpen);
    await pauseUnless(clock, auditFollowMs, signal);
  }
}

/** Shows lines whose result is known or overdue. Resolves to the others. */
async function settle(
  lines: readonly Unsettled[],
  nowMs: number,
  show: Following['show'],
): Promise<readonly Unsettled[]> {
  const left: Unsettled[] = [];
  for (const waiting of lines) {
    const line = await waiting.again();
    if (line.result === 'unknown' && nowMs - waiting.sinceMs < auditResultMsMax) left.push(waiting);
    else show(line);
  }
  return left;
}

export interface RemoteFollowing extends Pick<Following, 'clock' | 'show'> {
  /** The lines behind a place. Throws an OpsUnavailableError when the same may be asked again. */
  readonly ask: (after: string, signal: AbortSignal) => Promise<AuditAnswer>;
  /** Writes a remark for people. */
  readonly remark: (text: string) => void;
}

const askedEveryMs = 1000;

/** Resolves when `signal` is aborted; rejects with what the server refuses. `after`: the `next` of an earlier answer. */
export async function followRemoteAudit(
  { clock, ask, show, remark }: RemoteFollowing,
  after: string,
  signal: AbortSignal,
): Promise<void> {
  let place = after;
  let isUnavailable = false;
  for (;;) {
    await pauseUnless(clock, askedEveryMs, signal);
    const answer = await ask(place, signal).catch(orUnavailable);
    if (signal.aborted) return;
    if (answer instanceof OpsUnavailableError) {
      if (!isUnavailable) remark(`${answer.message}; following on when it is back`);
      isUnavailable = true;
      continue;
    }
    if (isUnavailable) remark('the server is back');
    isUnavailable = false;
    for (const line of answer.lines) show(line);
    place = answer.next;
  }
}

function orUnavailable(error: unknown): OpsUnavailableError {
  if (error instanceof OpsUnavailableError) return error;
  throw error;
}
