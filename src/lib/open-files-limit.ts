/**
 * How many sessions and connections the process can hold without starving its other work.
 * Source: decisions.md, File descriptors.
 */
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

interface ListenerCount {
  /** Connections that it may always hold. */
  readonly reserved: number;
  /** Those it holds now. */
  count(): number;
}

/** The connections of all listeners of a process, counted together: each has a reserved part, and they share the pool. */
export class ConnectionCensus<Name extends string> {
  readonly #pool: number;
  readonly #listeners = new Map<Name, ListenerCount>();

  /** `pool`: connections that are in nobody's reserved part. */
  constructor(pool: number) {
    this.#pool = Math.max(0, pool);
  }

  join(name: Name, listener: ListenerCount): void {
    this.#listeners.set(name, listener);
  }

  /** Those that each listener holds now. */
  counts(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#listeners].map(([name, listener]) => [name, listener.count()]));
  }

  /** What the other listeners hold of the pool. */
  othersOf(name: Name): number {
    let held = 0;
    for (const [other, listener] of this.#listeners)
      if (other !== name) held += Math.max(0, listener.count() - listener.reserved);
    return held;
  }

  /** How many the listener may hold now, of the pool `poolShare` of it at most. */
  roomOf(name: Name, poolShare: number): number {
    const reserved = this.#listeners.get(name)?.reserved ?? 0;
    const left = Math.min(Math.floor(this.#pool * poolShare), this.#pool - this.othersOf(name));
    return reserved + Math.max(0, left);
  }
}
