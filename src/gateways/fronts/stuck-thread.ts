/**
 * Ends a worker thread that no longer returns to its loop. `Worker.terminate` alone would end the whole process where the thread
 * holds native handles that only its own code closes, as the front end's library does. So a debugger halts the thread where it
 * is stuck and has it run that code, and then it is terminated.
 */
import { Session, type NodeWorker } from 'node:inspector';
import type { Worker } from 'node:worker_threads';
import type { Clock } from '../../lib/clock.ts';

/** A thread that is stuck in native code halts when it leaves that, or never. */
const haltMsMax = 2000;

interface FromThread {
  readonly id?: number;
  readonly method?: string;
  readonly result?: { readonly exceptionDetails?: unknown };
  readonly params?: { readonly callFrames?: readonly { readonly callFrameId: string }[] };
}

/** `cleanUp`: the name of a global function of the thread. Resolves to false when the thread did not halt: it is as it was. */
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
  /** Begins its title: the debugger counts threads in another way. */
  readonly #title: string;
  #sessionId = '';
  #ids = 0;

  constructor(clock: Clock, threadId: number) {
    this.#clock = clock;
    this.#title = `[worker ${threadId}]`;
    this.#session.connect();
  }

  /** Runs the function where the thread is. False: it has not halted. */
  halt(cleanUp: string): Promise<boolean> {
    return new Promise((resolve) => {
      const cancel = this.#clock.after(haltMsMax, () => resolve(false));
      let cleaning = -1;
      this.#session.on('NodeWorker.attachedToWorker', ({ params }) => {
        if (!params.workerInfo.title.startsWith(this.#title)) return;
        this.#sessionId = params.sessionId;
        this.#tell('Debugger.enable');
        this.#tell('Debugger.pause');
      });
      this.#session.on('NodeWorker.receivedMessageFromWorker', ({ params }) => {
        const { id, method, params: paused, result } = this.#read(params);
        const [frame] = paused?.callFrames ?? [];
        if (method === 'Debugger.paused' && frame !== undefined)
          cleaning = this.#tell('Debugger.evaluateOnCallFrame', {
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
    this.#tell('Debugger.resume');
  }

  close(): void {
    this.#session.disconnect();
  }

  #read({ sessionId, message }: NodeWorker.ReceivedMessageFromWorkerEventDataType): FromThread {
    return sessionId === this.#sessionId ? (JSON.parse(message) as FromThread) : {};
  }

  /** The number of its answer. */
  #tell(method: string, params: object = {}): number {
    this.#ids += 1;
    const message = JSON.stringify({ id: this.#ids, method, params });
    this.#session.post('NodeWorker.sendMessageToWorker', { sessionId: this.#sessionId, message });
    return this.#ids;
  }
}
