/** The reasons of `/readyz` in words. */
import { damagedAdvice, panicAdvice } from '../../storage/lmdb/store-fault.ts';

/** A reason without an entry is shown as it is. */
export const reasonsInWords: Readonly<Record<string, string>> = {
  starting: 'it is starting',
  draining: 'it is being stopped',
  store: 'the store refuses writes: check the disk; the log has the reason',
  store_damaged: `the store is damaged, its log names the file: ${damagedAdvice}`,
  store_panic: `the disk failed the store at its first pages: ${panicAdvice}`,
  registry_empty:
    'its registry is empty: nobody can call and no device can log in; import one, or check that the disk of its data directory is mounted',
  cluster: 'NATS or other nodes are unreachable: see reveille cluster status',
};
