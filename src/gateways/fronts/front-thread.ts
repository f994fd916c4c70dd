/** The core's handle on the thread of a front. */
import type { Clock } from '../../lib/clock.ts';
import { startModuleWorker } from '../../lib/module-worker.ts';
import { closeAtExit } from './front-exit.ts';
import type { FromFront, FrontStart, ToFront } from './front-messages.ts';
import { endStuckThread } from './stuck-thread.ts';

export interface FrontThread {
  /** Resolves to the reason, empty if unknown. */
  readonly ended: Promise<string>;
  onMessage(listener: (message: FromFront) => void): void;
  post(message: ToFront, moved: readonly ArrayBuffer[]): void;
  /** Utilization of its event loop over the last seconds, 0 to 1. */
  readonly utilization: number;
  /** Ends a thread whose event loop is stuck. False: it cannot be ended. */
  endStuck(): Promise<boolean>;
}

const sampleMs = 500;
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
    // NaN until the event loop starts.
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
