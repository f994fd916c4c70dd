import { sharedDeliveryStore, storedDeliveries } from '../support/kept-delivery-stores.ts';
import { MemoryKvStore } from '../support/memory-kv-store.ts';
import { MemoryDeliveryStore } from '../support/memory-delivery-store.ts';
import { deliveryStoreConformance } from './delivery-store.ts';

deliveryStoreConformance('the delivery store in memory', async () => {
  const deliveries = new MemoryDeliveryStore();
  return { deliveries, next: async () => deliveries };
});
deliveryStoreConformance('the delivery store in LMDB', storedDeliveries);
deliveryStoreConformance('the delivery store that nodes share', (t) =>
  sharedDeliveryStore(t, new MemoryKvStore()),
);
