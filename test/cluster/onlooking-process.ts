/** Opens a file of a store read-only and closes it, as often as it is told. Run with the file's path and a number. */
import { Environment } from '../../src/storage/lmdb/environment.ts';

const [path = '', count = ''] = process.argv.slice(2);
for (let i = 0; i < Number(count); i++) await new Environment(path, 'read-only').close();
