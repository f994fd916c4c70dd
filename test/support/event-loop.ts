/** Turns of the event loop: what a test waits for where nothing tells it. */

/** Lets the event loop go around once: sockets are read, what is due is done. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Turns it until it is so. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await nextTurn();
}
