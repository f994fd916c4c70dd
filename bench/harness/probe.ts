/**
 * Preloaded into every process of a benchmark, ours and the peers' alike, so that all carry the same instruments. Ends its process
 * when the benchmark is gone.
 */
import cluster from 'node:cluster';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { anonymousBytesOf, threadSecondsOf } from '../../test/support/process-samples.ts';
import { answerQuestions } from './ipc.ts';

const resolutionMs = 1;
const settleMs = 200;
const nanosecondsPerMs = 1e6;
const microsecondsPerSecond = 1e6;

/** Time that a process spent since the last `reset`. */
export interface ProbeReading {
  readonly wallSeconds: number;
  /** All threads, user and system. */
  readonly cpuSeconds: number;
  readonly mainCpuSeconds: number;
  /** Between two turns of a 1 ms timer, in milliseconds: about 1.1 in an idle process. */
  readonly loopDelayMs: { readonly p99: number; readonly max: number };
}

export interface MemoryReading {
  /** Resident memory that no file backs. */
  readonly rssAnonBytes: number;
  /** Alive in V8's heap and in the buffers it owns: without the free memory that an allocator keeps. */
  readonly liveBytes: number;
}

export type ProbeProtocol = {
  reset: { take: null; give: null };
  read: { take: null; give: ProbeReading };
  /** After two forced collections. */
  memory: { take: null; give: MemoryReading };
};

// In a site with edges the supervisor has the probe: its core has no channel, and that of an edge is node:cluster's.
if (process.send !== undefined && !cluster.isWorker) startProbe();
// Each of its processes is made to collect its garbage.
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
