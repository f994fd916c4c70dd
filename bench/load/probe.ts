/**
 * Preloaded into every process that takes part, ours and the peers' alike, so that all carry the same instruments
 * and the same weight of them. Ends its process when the benchmark is gone.
 */
import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { answerQuestions } from './ipc.ts';
import { probeService, type ProbeProtocol, type ProbeReading } from './probe-protocol.ts';

const resolutionMs = 1;
const settleMs = 200;
const nanosecondsPerMs = 1e6;
const nanosecondsPerSecond = 1e9;
const microsecondsPerSecond = 1e6;

startProbe();

function startProbe(): void {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  let since = spent();
  answerQuestions<ProbeProtocol>(probeService, {
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
          p50: delay.percentile(50) / nanosecondsPerMs,
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
      return { rssAnonBytes: readAnonymousBytes(), liveBytes: heapUsed + external };
    },
  });
  process.once('disconnect', () => process.exit(1));
}

function spent(): { readonly wall: number; readonly cpu: number; readonly mainCpu: number } {
  const { user, system } = process.cpuUsage();
  return {
    wall: performance.now() / 1000,
    cpu: (user + system) / microsecondsPerSecond,
    mainCpu: readMainThreadSeconds(),
  };
}

/** The main thread's id is the process's. The first field is its time on a processor in nanoseconds. */
function readMainThreadSeconds(): number {
  const [onProcessor] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(' ');
  return Number(onProcessor) / nanosecondsPerSecond;
}

function readAnonymousBytes(): number {
  const kibibytes = /^RssAnon:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'latin1'))?.[1];
  return Number(kibibytes) * 1024;
}
