import { sharedDeliveryStore, storedDeliveries } from '../support/kept-books.ts';
import { MemoryKvStore } from '../support/memory-shelf.ts';
import { MemoryDeliveryStore } from '../support/memory-webhook-book.ts';
import { deliveryStoreConformance } from './webhook-book.ts';

deliveryStoreConformance('the book in memory', async () => {
  const deliveries = new MemoryDeliveryStore();
  return { deliveries, next: async () => deliveries };
});
deliveryStoreConformance('the book in LMDB', storedDeliveries);
deliveryStoreConformance('the book that nodes share', (t) => sharedDeliveryStore(t, new MemoryKvStore()));
