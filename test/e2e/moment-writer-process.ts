/** Writes a number into one file of a store, then the same into another, and so on for ever. Run with a directory. */
import { join } from 'node:path';
import { Environment } from '../../src/storage/lmdb/environment.ts';
import { storeFileNames } from '../../src/storage/lmdb/store-format.ts';

const directory = process.argv[2] ?? '';
const files = [storeFileNames.state, storeFileNames.registry].map((name) => {
  const environment = new Environment(join(directory, name), 'write');
  return { environment, table: environment.table<number>('numbers') };
});

for (let number = 0; ; number++) {
  for (const { environment, table } of files)
    await environment.transaction(() => void table.put(Buffer.from('number'), number));
  if (number === 0) process.stdout.write('written\n');
}
