/**
 * Preloaded into every process of a benchmark, ours and the peers', so that all are measured alike. Ends its process when the
 * benchmark ends.
 */
import cluster from 'node:cluster';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { Script } from 'node:vm';
import { anonymousBytesOf, threadSecondsOf } from '../../test/support/process-samples.ts';
import { answerQuestions } from './ipc.ts';

const resolutionMs = 1;
const settleMs = 200;
const nanosecondsPerMs = 1e6;
const microsecondsPerSecond = 1e6;

/** Measurements of a process since the last `reset`. */
export interface ProbeReading {
  readonly wallSeconds: number;
  readonly cpuSeconds: number;
  readonly mainCpuSeconds: number;
  /** Milliseconds between two turns of a 1 ms timer; about 1.1 in an idle process. */
  readonly loopDelayMs: { readonly p99: number; readonly max: number };
}

export interface MemoryReading {
  readonly rssAnonBytes: number;
  /** Live memory of V8's heap and its buffers, without the allocator's reserves. */
  readonly liveBytes: number;
}

export type ProbeProtocol = {
  reset: { take: null; give: null };
  read: { take: null; give: ProbeReading };
  memory: { take: null; give: MemoryReading };
};

// With edges only the supervisor has the probe: the core has no IPC channel, and that of an edge belongs to node:cluster.
if (process.send !== undefined && !cluster.isWorker) startProbe();
// A built server keeps V8's code 5 s after its start, which would be measured.
Script.prototype.createCachedData = () => Buffer.alloc(0);
// Lets the benchmark force a garbage collection in every process.
process.on('SIGUSR1', () => globalThis.gc?.());

function startProbe(): void {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  let since = spent();
  answerQuestions<ProbeProtocol>(
    {
      reset: () => {
        delay.reset();
        since = spent();
        return null;
      },
      read: (): ProbeReading => {
        const now = spent();
        return {
          wallSeconds: now.wall - since.wall,
          cpuSeconds: now.cpu - since.cpu,
          mainCpuSeconds: now.mainCpu - since.mainCpu,
          loopDelayMs: {
            p99: delay.percentile(99) / nanosecondsPerMs,
            max: delay.max / nanosecondsPerMs,
          },
        };
      },
      memory: async () => {
        globalThis.gc?.();
        await sleep(settleMs);
        globalThis.gc?.();
        const { heapUsed, external } = process.memoryUsage();
        return { rssAnonBytes: anonymousBytesOf(process.pid), liveBytes: heapUsed + external };
      },
    },
    'probe',
  );
  process.once('disconnect', () => process.exit(1));
}

function spent(): { readonly wall: number; readonly cpu: number; readonly mainCpu: number } {
  const { user, system } = process.cpuUsage();
  return {
    wall: performance.now() / 1000,
    cpu: (user + system) / microsecondsPerSecond,
    mainCpu: threadSecondsOf(process.pid, process.pid),
  };
}
