/** The thread of a front, as the core holds it. */
import type { Clock } from '../../lib/clock.ts';
import { startModuleWorker } from '../../lib/module-worker.ts';
import { closeAtExit } from './front-exit.ts';
import type { FromFront, FrontStart, ToFront } from './front-messages.ts';
import { endStuckThread } from './stuck-thread.ts';

export interface FrontThread {
  /** Resolves to the reason, empty when it said none. */
  readonly ended: Promise<string>;
  onMessage(listener: (message: FromFront) => void): void;
  post(message: ToFront, moved: readonly ArrayBuffer[]): void;
  /** Busy share of the time of its loop over the last seconds, 0 to 1. */
  readonly utilization: number;
  /** Ends a thread that no longer turns its loop. False: nothing ends it. */
  endStuck(): Promise<boolean>;
}

const sampleMs = 500;
/** Samples over which the busy share is averaged. */
const samples = 10;

export function startFrontThread(start: FrontStart, clock: Clock): FrontThread {
  const worker = startModuleWorker('front-worker', import.meta.url, start);
  closeAtExit(worker, start.counters);
  const { performance } = worker;
  let reason = '';
  let counted = performance.eventLoopUtilization();
  let busy = 0;
  const cancel = clock.every(sampleMs, () => {
    const before = counted;
    counted = performance.eventLoopUtilization();
    // Not a number until its loop begins.
    const { utilization } = performance.eventLoopUtilization(counted, before);
    busy += ((utilization || 0) - busy) / samples;
  });
  worker.on('error', (error: unknown) => (reason = String(error)));
  worker.on('message', (message: FromFront) => {
    if (message.kind === 'failed') ({ reason } = message);
  });
  return {
    ended: new Promise((resolve) =>
      worker.once('exit', () => {
        cancel();
        resolve(reason);
      }),
    ),
    onMessage: (listener) => void worker.on('message', listener),
    post: (message, moved) => worker.postMessage(message, moved),
    get utilization() {
      return busy;
    },
    endStuck: () => endStuckThread(clock, worker, 'closeFront'),
  };
}
