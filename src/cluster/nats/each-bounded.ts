/**
 * Runs at most `concurrencyMax` tasks concurrently. Resolves when all are done. After the first failure it begins no more,
 * and rejects with that failure when the tasks under way have settled.
 */
export async function eachBounded<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  concurrencyMax: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const source = oneByOne(items);
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
  await Promise.all(Array.from({ length: concurrencyMax }, take));
  await source.return();
  if (failures.length > 0) throw failures[0];
}

async function* oneByOne<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
): AsyncGenerator<Item, void, undefined> {
  yield* items;
}
