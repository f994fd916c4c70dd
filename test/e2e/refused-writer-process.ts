/** Has a write refused by its disk, by a limit on the files of this process, and closes the file. Run with its path. */
import { execFileSync } from 'node:child_process';
import { Environment } from '../../src/storage/lmdb/environment.ts';

const environment = new Environment(process.argv[2] ?? '', 'write');
const table = environment.table<number>('numbers');
const write = (number: number): Promise<void> =>
  environment.transaction(() => void table.put(Buffer.from('number'), number));

await write(1);
execFileSync('prlimit', ['--pid', String(process.pid), '--fsize=0:unlimited']);
const refused = await write(2).then(
  () => 'taken',
  () => 'refused',
);
process.stdout.write(`${refused}\n`);
await environment.close();
process.stdout.write('closed\n', () => process.exit(0));
