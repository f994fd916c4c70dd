/** What the probe inside every measured process can be asked. */
export const probeService = 'probe';

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

export interface MemoryReading {
  /** What the kernel has given the process and cannot take from a file: the measure that costs money. */
  readonly rssAnonBytes: number;
  /** What is alive in V8's heap and in the buffers it owns: free of what an allocator keeps for later. */
  readonly liveBytes: number;
}

export type ProbeProtocol = {
  reset: { take: null; give: null };
  read: { take: null; give: ProbeReading };
  /** After two forced collections. */
  memory: { take: null; give: MemoryReading };
};
