import { MemoryBucket } from '../support/memory-kv-store.ts';
import { kvStoreConformance } from './kv-store.ts';

kvStoreConformance('a bucket in memory', async () => {
  const bucket = new MemoryBucket();
  return { one: bucket.open(), other: bucket.open() };
});
