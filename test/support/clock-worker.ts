/** A thread that answers each message with its own clock reading. */
import { parentPort } from 'node:worker_threads';
import { monotonicOriginMs, SystemClock } from '../../src/lib/system-clock.ts';

const clock = new SystemClock();
const originMs = monotonicOriginMs();
parentPort?.on('message', () => parentPort?.postMessage(clock.monotonicMs() + originMs));
parentPort?.postMessage('ready');
