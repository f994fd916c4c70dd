/** Turns of the event loop: what a test waits for where nothing tells it. */
import { setTimeout as pause } from 'node:timers/promises';

/** Lets the event loop go around once: sockets are read, what is due is done. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

const quickTurns = 100;

/** Turns it until it is so; after a while with a rest between turns, for other processes have to do what is waited for. */
export async function until(isSo: () => boolean): Promise<void> {
  for (let turn = 0; !isSo(); turn += 1) await (turn < quickTurns ? nextTurn() : pause(1));
}
