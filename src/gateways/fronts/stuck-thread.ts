/**
 * Ends a worker thread whose event loop is stuck. `Worker.terminate` alone would abort the process if the thread holds native
 * handles that only its own code closes, as the HTTP front end's library does. So a debugger pauses the thread and runs that code
 * in it before the thread is terminated.
 */
import { Session, type NodeWorker } from 'node:inspector';
import type { Worker } from 'node:worker_threads';
import type { Clock } from '../../lib/clock.ts';

/** A thread stuck in native code pauses only when it returns from that, or never. */
const haltMsMax = 2000;

interface FromThread {
  readonly id?: number;
  readonly method?: string;
  readonly result?: { readonly exceptionDetails?: unknown };
  readonly params?: { readonly callFrames?: readonly { readonly callFrameId: string }[] };
}

/** `cleanUp`: the name of a global function of the thread. Resolves to false if the thread did not pause; it then keeps running. */
export async function endStuckThread(clock: Clock, worker: Worker, cleanUp: string): Promise<boolean> {
  const ended = new Promise<true>((resolve) => worker.once('exit', () => resolve(true)));
  const thread = new DebuggedThread(clock, worker.threadId);
  try {
    if (!(await thread.halt(cleanUp))) return false;
    void worker.terminate();
    thread.resume();
    return await ended;
  } finally {
    thread.close();
  }
}

class DebuggedThread {
  readonly #clock: Clock;
  readonly #session = new Session();
  /** Prefix of its title: the debugger numbers threads differently. */
  readonly #title: string;
  #sessionId = '';
  #ids = 0;

  constructor(clock: Clock, threadId: number) {
    this.#clock = clock;
    this.#title = `[worker ${threadId}]`;
    this.#session.connect();
  }

  /** Pauses the thread and runs the function in it. False: it did not pause. */
  halt(cleanUp: string): Promise<boolean> {
    return new Promise((resolve) => {
      const cancel = this.#clock.after(haltMsMax, () => resolve(false));
      let cleaning = -1;
      this.#session.on('NodeWorker.attachedToWorker', ({ params }) => {
        if (!params.workerInfo.title.startsWith(this.#title)) return;
        this.#sessionId = params.sessionId;
        this.#send('Debugger.enable');
        this.#send('Debugger.pause');
      });
      this.#session.on('NodeWorker.receivedMessageFromWorker', ({ params }) => {
        const { id, method, params: paused, result } = this.#read(params);
        const [frame] = paused?.callFrames ?? [];
        if (method === 'Debugger.paused' && frame !== undefined)
          cleaning = this.#send('Debugger.evaluateOnCallFrame', {
            callFrameId: frame.callFrameId,
            expression: `globalThis.${cleanUp}()`,
          });
        if (id !== cleaning) return;
        cancel();
        resolve(result?.exceptionDetails === undefined);
      });
      this.#session.post('NodeWorker.enable', { waitForDebuggerOnStart: false });
    });
  }

  resume(): void {
    this.#send('Debugger.resume');
  }

  close(): void {
    this.#session.disconnect();
  }

  #read({ sessionId, message }: NodeWorker.ReceivedMessageFromWorkerEventDataType): FromThread {
    return sessionId === this.#sessionId ? (JSON.parse(message) as FromThread) : {};
  }

  /** Returns the id of the command, which its answer carries. */
  #send(method: string, params: object = {}): number {
    this.#ids += 1;
    const message = JSON.stringify({ id: this.#ids, method, params });
    this.#session.post('NodeWorker.sendMessageToWorker', { sessionId: this.#sessionId, message });
    return this.#ids;
  }
}
