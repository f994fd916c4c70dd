/** Who changes the registry: the running server where one has the store, else this process in the store at rest. */
import type { Clock } from '../../lib/clock.ts';
import { openStore } from '../../storage/lmdb/open-store.ts';
import { findOpsClient } from './ops-client.ts';
import { LiveChanges, type RegistryChanges } from './registry-changes.ts';
import { RestingChanges } from './resting-changes.ts';

/** Runs `act` with the changes of whoever has the store now. */
export async function changeRegistry<Result>(
  dataDirectory: string,
  clock: Clock,
  act: (changes: RegistryChanges) => Promise<Result>,
): Promise<Result> {
  const ops = findOpsClient(dataDirectory);
  if (ops !== null) return act(new LiveChanges(ops));
  const store = openStore(dataDirectory);
  try {
    return await act(new RestingChanges(store, clock));
  } finally {
    await store.close();
  }
}
