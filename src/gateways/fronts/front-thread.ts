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
  /** Where it no longer turns its loop. False: nothing ends it. */
  endStuck(): Promise<boolean>;
}

export function startFrontThread(start: FrontStart, clock: Clock): FrontThread {
  const worker = startModuleWorker('front-worker', import.meta.url, start);
  closeAtExit(worker, start.counters);
  let reason = '';
  worker.on('error', (error: unknown) => (reason = String(error)));
  worker.on('message', (message: FromFront) => {
    if (message.kind === 'failed') ({ reason } = message);
  });
  return {
    ended: new Promise((resolve) => worker.once('exit', () => resolve(reason))),
    onMessage: (listener) => void worker.on('message', listener),
    post: (message, moved) => worker.postMessage(message, moved),
    endStuck: () => endStuckThread(clock, worker, 'closeFront'),
  };
}
