/** How many sessions the process can hold without starving its other work. Source: decisions.md, File descriptors. */
import { readFileSync } from 'node:fs';

/** The soft limit of open files; Infinity where there is none, or none can be read. */
export function readOpenFilesLimit(): number {
  return process.platform === 'linux' ? readProcLimit() : readReportLimit();
}

/** `setting`, or what the limit leaves after the descriptors kept back, `reserved`; not below 0. */
export function boundSessions(setting: number, openFilesLimit: number, reserved: number): number {
  return Math.max(0, Math.min(setting, openFilesLimit - reserved));
}

function readProcLimit(): number {
  const soft = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1];
  return soft === undefined ? Infinity : Number(soft);
}

interface LimitsReport {
  readonly userLimits?: { readonly open_files?: { readonly soft?: number | 'unlimited' } };
}

function readReportLimit(): number {
  const report = process.report.getReport() as LimitsReport;
  const soft = report.userLimits?.open_files?.soft;
  return typeof soft === 'number' ? soft : Infinity;
}
