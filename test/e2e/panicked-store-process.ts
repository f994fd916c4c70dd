/**
 * Makes LMDB panic: the disk takes the pages of a commit and is full when it is to be marked as flushed, by a limit on the
 * files of this process. Run with the path of a file, and `known` or `unknown`: whether the next transaction is asked for when
 * that is known, or comes to the package's writer unawares.
 */
import { execFileSync } from 'node:child_process';
import { Environment } from '../../src/storage/lmdb/environment.ts';
import { isPanic, StorePanicError } from '../../src/storage/lmdb/store-fault.ts';

const [, , path = '', whether] = process.argv;
/** Of a commit: to flush it takes longer than to limit the files. */
const flushedBytes = 64 * 1024 * 1024;
const [first, second] = [Buffer.from('first'), Buffer.from('second')];

const environment = new Environment(path, 'write');
const table = environment.table<Buffer | string>('values');
/** Of the same file in the same process, for which there is one LMDB. */
const beside = new Environment(path, 'write');
const tableBeside = beside.table<Buffer | string>('values');
const say = (line: string): void => void process.stdout.write(`${line}\n`);
environment.onFault((error) => say(error instanceof StorePanicError ? 'told' : String(error)));

/** Blocks the loop: nothing of this thread comes to the writer meanwhile. */
function awaitPanic(): void {
  for (;;) {
    beside.refresh();
    try {
      tableBeside.get(first);
    } catch (error) {
      if (isPanic(error)) return;
      throw error;
    }
  }
}

const outcomeOf = (act: Promise<unknown>): Promise<string> =>
  act.then(
    () => 'taken',
    (error: unknown) => (error instanceof StorePanicError ? 'panic' : String(error)),
  );
const putSecond = (): Promise<void> => environment.transaction(() => void table.put(second, 'small'));

let unaware: Promise<string> | null = null;
const sight = {
  isVisible: () => table.get(first) !== undefined,
  seen: () => {
    execFileSync('prlimit', ['--pid', String(process.pid), '--fsize=0:unlimited']);
    if (whether === 'unknown') unaware = outcomeOf(putSecond());
    awaitPanic();
  },
};
const put = environment.transaction(() => void table.put(first, Buffer.alloc(flushedBytes)), sight);
say(`first ${await outcomeOf(put)}`);
if (unaware !== null) say(`unaware ${await unaware}`);
say(`second ${await outcomeOf(putSecond())}`);
try {
  environment.transactionSync(() => void table.put(second, 'small'));
} catch (error) {
  say(`synchronous ${error instanceof StorePanicError ? 'panic' : String(error)}`);
}
await environment.close();
process.stdout.write('closed\n', () => process.exit(0));
