/** Bounds on sessions and connections that leave descriptors for the rest of the process. Source: decisions.md, File descriptors. */
import { readFileSync } from 'node:fs';

/** Soft limit of open files; Infinity: unlimited, or unreadable. */
export function readOpenFilesLimit(): number {
  return process.platform === 'linux' ? readProcLimit() : readReportLimit();
}

/** The smaller of `setting` and the limit minus the `reserved` descriptors; at least 0. */
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

interface ListenerCount {
  readonly reserved: number;
  count(): number;
}

/** Counts the connections of all listeners of a process: each has a reserved part, and they share a pool. */
export class ConnectionCensus<Name extends string> {
  readonly #pool: number;
  readonly #listeners = new Map<Name, ListenerCount>();

  /** `pool`: connections outside the reserved parts. */
  constructor(pool: number) {
    this.#pool = Math.max(0, pool);
  }

  join(name: Name, listener: ListenerCount): void {
    this.#listeners.set(name, listener);
  }

  counts(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#listeners].map(([name, listener]) => [name, listener.count()]));
  }

  /** Pool connections that the other listeners use. */
  othersOf(name: Name): number {
    let held = 0;
    for (const [other, listener] of this.#listeners)
      if (other !== name) held += Math.max(0, listener.count() - listener.reserved);
    return held;
  }

  /** Connections that the listener may hold now, including at most `poolShare` of the pool. */
  roomOf(name: Name, poolShare: number): number {
    const reserved = this.#listeners.get(name)?.reserved ?? 0;
    const left = Math.min(Math.floor(this.#pool * poolShare), this.#pool - this.othersOf(name));
    return reserved + Math.max(0, left);
  }
}
