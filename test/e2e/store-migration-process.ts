/** Opens a store with a made-up migration and is killed in it, once a file's row has changed. Run with a directory and the file. */
import { openStore } from '../../src/storage/lmdb/open-store.ts';
import { madeUpMigration, migrationsWith } from '../support/made-up-migration.ts';

const [directory = '', last = ''] = process.argv.slice(2);
const seen = new Map<string, number>();
const migration = madeUpMigration((kind) => {
  seen.set(kind, (seen.get(kind) ?? 0) + 1);
  if (kind === last && seen.get(kind) === 2) process.kill(process.pid, 'SIGKILL');
});
await openStore(directory, { lock: 'taken' }, { migrations: migrationsWith(migration) }).close();
