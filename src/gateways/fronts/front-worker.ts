/** The entry module of a front's thread. */
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../../lib/assert.ts';
import { SystemClock } from '../../lib/system-clock.ts';
import { ApiFront } from './api-front.ts';
import type { FrontStart, SendToCore, ToFront } from './front-messages.ts';

const core = parentPort;
assert(core !== null, 'a front is a thread');
const send: SendToCore = (message) => core.postMessage(message);
const front = new ApiFront(workerData as FrontStart, new SystemClock(), send);

// The debugger of stuck-thread.ts calls this function by its name.
Object.assign(globalThis, { closeFront: () => front.leave() });

/** A thread that ended with open sockets would abort the process. */
function fail(reason: string): void {
  front.leave();
  send({ kind: 'failed', reason });
  core?.close();
}

process.on('uncaughtException', (error) => fail(error.stack ?? String(error)));
core.on('message', (message: ToFront) => {
  front.receive(message);
  if (message.kind === 'close') core.close();
});
