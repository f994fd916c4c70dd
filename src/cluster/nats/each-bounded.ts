/** Work on many things, so many of them at once. */

/**
 * Resolves when all are done. Rejects with the first failure when what was under way has settled; no more is begun then.
 */
export async function eachBounded<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  atOnceMax: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const source = inTurn(items);
  const failures: unknown[] = [];
  const take = async (): Promise<void> => {
    try {
      for (let next = await source.next(); next.done !== true; next = await source.next()) {
        if (failures.length > 0) return;
        await work(next.value);
      }
    } catch (error) {
      failures.push(error);
    }
  };
  await Promise.all(Array.from({ length: atOnceMax }, take));
  await source.return();
  if (failures.length > 0) throw failures[0];
}

async function* inTurn<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
): AsyncGenerator<Item, void, undefined> {
  yield* items;
}
