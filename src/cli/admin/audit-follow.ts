/**
 * Follows the audit log across rotations. A line is shown once, when its result is known; one whose change takes very
 * long, or whose server was killed, is shown as it is.
 */
import type { Clock } from '../../lib/clock.ts';
import type { AuditLine } from '../../model/audit.ts';
import { auditFollowMs, auditResultMsMax } from '../../model/limits.ts';
import type { AuditFiles, PlacedLine } from '../../storage/audit/audit-files.ts';
import { pauseUnless } from '../shell/command-context.ts';

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
