/** Closes a file after its disk has refused a write, by a file size limit of this process. Argument: its path. */
import { Environment } from '../../src/storage/lmdb/environment.ts';
import { limitProcess } from '../support/process-limit.ts';

const environment = new Environment(process.argv[2] ?? '');
const table = environment.table<number>('numbers');
const write = (number: number): Promise<void> =>
  environment.transaction(() => void table.put(Buffer.from('number'), number));

await write(1);
limitProcess(process.pid, 'fsize', 0);
const refused = await write(2).then(
  () => 'taken',
  () => 'refused',
);
process.stdout.write(`${refused}\n`);
await environment.close();
process.stdout.write('closed\n', () => process.exit(0));
