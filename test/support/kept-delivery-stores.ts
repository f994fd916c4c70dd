/** Delivery stores: in LMDB for a single node, and shared between nodes. */
import type { KvStore } from '../../src/cluster/nats/kv-store.ts';
import { NatsDeliveryStore } from '../../src/cluster/records/nats-delivery-store.ts';
import {
  seedDeliveryStore,
  LmdbDeliveryStore,
  WebhookTables,
  type KeepChanges,
} from '../../src/storage/webhooks/lmdb-delivery-store.ts';
import type { KeptDeliveryStore } from '../conformance/delivery-store.ts';
import { FakeLog } from './fakes.ts';
import { lastFirst, temporaryDirectory, type Ending } from './temporary-store.ts';

/** `next`: the same node after a restart. */
export async function storedDeliveries(t: Ending): Promise<KeptDeliveryStore> {
  const ending = lastFirst(t);
  const directory = temporaryDirectory(ending);
  const deliveries = openDeliveryStore(ending, directory);
  return { deliveries, next: async () => openDeliveryStore(ending, directory) };
}

/** `next`: another node that takes over. */
export async function sharedDeliveryStore(t: Ending, kv: KvStore): Promise<KeptDeliveryStore> {
  const ending = lastFirst(t);
  const repository = repositoryOn(kv);
  await repository.load(async () => undefined);
  const keep: KeepChanges = (changes) => repository.keep(changes);
  return {
    deliveries: openDeliveryStore(ending, temporaryDirectory(ending), keep),
    async next() {
      const directory = temporaryDirectory(ending);
      await seedDeliveryStore(new WebhookTables(directory), (take) => repositoryOn(kv).load(take));
      return openDeliveryStore(ending, directory);
    },
  };
}

function repositoryOn(kv: KvStore): NatsDeliveryStore {
  return new NatsDeliveryStore({ kv, log: new FakeLog(), mayWrite: () => true });
}

function openDeliveryStore(
  ending: Ending,
  directory: string,
  keep: KeepChanges | null = null,
): LmdbDeliveryStore {
  const tables = new WebhookTables(directory);
  ending.after(() => tables.environment.close());
  return new LmdbDeliveryStore(tables, keep);
}
