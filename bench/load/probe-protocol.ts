/** What the probe inside every measured process can be asked. */
export const probeDesk = 'probe';

/** What a process spent since the last `reset`. */
export interface ProbeReading {
  readonly wallSeconds: number;
  /** All threads, user and system. */
  readonly cpuSeconds: number;
  /** The main thread alone. */
  readonly mainCpuSeconds: number;
  /** Between two turns of a 1 ms timer, in milliseconds: about 1.1 in a process that has nothing to do. */
  readonly loopDelayMs: { readonly p50: number; readonly p99: number; readonly max: number };
}

export type ProbeProtocol = {
  reset: { take: null; give: null };
  read: { take: null; give: ProbeReading };
  /** Anonymous resident bytes after two forced collections. */
  memory: { take: null; give: number };
};
