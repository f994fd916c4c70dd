/** What `reveille audit` does: reads the files of the audit log, whether a server runs or not. */
import type { AuditLine } from '../../model/audit.ts';
import { AuditFiles } from '../../storage/audit/audit-files.ts';
import { followAudit } from './audit-follow.ts';
import { describeAuditLine } from './audit-view.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { untilInterrupted } from '../shell/until-interrupted.ts';

export interface AuditOptions {
  /** The newest so many. */
  readonly limit: number;
  /** From this moment on, by the wall. */
  readonly since?: (nowMs: number) => number;
  /** Actions, or beginnings of some and `*`. */
  readonly action?: readonly string[];
  readonly operator?: string;
  readonly follow?: boolean;
}

export async function showAudit(
  { clock, dataDirectory, output }: Pick<CommandContext, 'clock' | 'dataDirectory' | 'output'>,
  options: AuditOptions,
): Promise<void> {
  const files = new AuditFiles(dataDirectory);
  const isWanted = filterOf(options, clock.wallMs());
  const show = (line: AuditLine): void => output.answer(line, describeAuditLine(line));
  try {
    const newest: AuditLine[] = [];
    for await (const { line } of files.read()) {
      if (isWanted(line)) newest.push(line);
      if (newest.length > options.limit) newest.shift();
    }
    for (const line of newest) show(line);
    if (options.follow === true) {
      const following = { clock, files, show: (line: AuditLine) => isWanted(line) && show(line) };
      return await untilInterrupted((signal) => followAudit(following, signal));
    }
    if (newest.length === 0) output.remark('no such change is in the audit log');
  } finally {
    await files.closeOld(0);
  }
}

function filterOf({ since, action, operator }: AuditOptions, nowMs: number): (line: AuditLine) => boolean {
  const fromMs = since?.(nowMs) ?? -Infinity;
  return (line) =>
    Date.parse(line.at) >= fromMs &&
    (operator === undefined || line.operator === operator || line.user === operator) &&
    (action === undefined || action.some((pattern) => isLike(line.action, pattern)));
}

function isLike(action: string, pattern: string): boolean {
  return pattern.endsWith('*') ? action.startsWith(pattern.slice(0, -1)) : action === pattern;
}
