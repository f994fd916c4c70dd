/** Turns of the event loop, for tests that wait without a notification. */
import { setTimeout as pause } from 'node:timers/promises';

/** Resolves after one turn of the event loop: sockets are read, due timers run. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

const quickTurns = 100;

/** Polls every turn until true; after a while with pauses, since other processes may have to do the work. */
export async function until(isSo: () => boolean): Promise<void> {
  for (let turn = 0; !isSo(); turn += 1) await (turn < quickTurns ? nextTurn() : pause(1));
}
