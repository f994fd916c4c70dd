import { sharedDeliveryStore, storedDeliveries } from '../support/kept-delivery-stores.ts';
import { MemoryKvStore } from '../support/memory-kv-store.ts';
import { MemoryDeliveryStore } from '../support/memory-delivery-store.ts';
import { deliveryStoreConformance } from './delivery-store.ts';

deliveryStoreConformance('the book in memory', async () => {
  const deliveries = new MemoryDeliveryStore();
  return { deliveries, next: async () => deliveries };
});
deliveryStoreConformance('the book in LMDB', storedDeliveries);
deliveryStoreConformance('the book that nodes share', (t) => sharedDeliveryStore(t, new MemoryKvStore()));
