/**
 * Makes LMDB panic: the disk takes the pages of a commit and is full when it is to be marked as flushed, by a limit on the
 * files of this process. Where the flush was faster the next file is tried. Run with a directory, and `known` or `unknown`:
 * whether the next transaction is asked for when LMDB's panic is known, or comes to the package's writer unawares.
 */
import { join } from 'node:path';
import { Environment, type Table } from '../../src/storage/lmdb/environment.ts';
import { isPanic, StorePanicError } from '../../src/storage/lmdb/store-fault.ts';
import { limitProcess } from '../support/process-limit.ts';

const [, , directory = '', whether] = process.argv;
/** Of a commit: to flush it takes about as long as to limit the files. */
const flushedBytes = 64 * 1024 * 1024;
const [first, second] = [Buffer.from('first'), Buffer.from('second')];

const outcomeOf = (act: Promise<unknown>): Promise<string> =>
  act.then(
    () => 'taken',
    (error: unknown) => (error instanceof StorePanicError ? 'panic' : String(error)),
  );

/** A flush that is not refused within this was faster than the limit: the next file is tried. */
const panicMsMax = 5000;

/** Blocks the loop: nothing of this thread comes to the writer meanwhile. `table`: of `beside`; there is one LMDB for both. */
function awaitPanic(beside: Environment, table: Table<unknown>): void {
  for (const startedMs = performance.now(); performance.now() - startedMs < panicMsMax;) {
    beside.refresh();
    try {
      // Absent: a value of many bytes at each look would fill the heap.
      table.get(second);
    } catch (error) {
      if (isPanic(error)) return;
      throw error;
    }
  }
}

/** Resolves to what came of it; null: LMDB has not panicked, or too late. */
async function fillUnderFlush(path: string): Promise<string[] | null> {
  const environment = new Environment(path);
  const table = environment.table<Buffer | string>('values');
  const beside = new Environment(path);
  // Opened before the panic, which would refuse it.
  const tableBeside = beside.table<unknown>('values');
  const said: string[] = [];
  environment.onFault((error) => said.push(error instanceof StorePanicError ? 'told' : String(error)));
  const putSecond = (): Promise<void> => environment.transaction(() => void table.put(second, 'small'));
  const unaware: Promise<string>[] = [];
  const sight = {
    isVisible: () => table.get(first) !== undefined,
    onVisible: () => {
      limitProcess(process.pid, 'fsize', 0);
      if (whether === 'known') return;
      unaware.push(outcomeOf(putSecond()));
      awaitPanic(beside, tableBeside);
    },
  };
  await environment.transaction(() => void table.put(first, Buffer.alloc(flushedBytes)), sight);
  for (const outcome of unaware) said.push(`unaware ${await outcome}`);
  said.push(`second ${await outcomeOf(putSecond())}`);
  try {
    environment.transactionSync(() => void table.put(second, 'small'));
  } catch (error) {
    said.push(`synchronous ${error instanceof StorePanicError ? 'panic' : String(error)}`);
  }
  await environment.close();
  limitProcess(process.pid, 'fsize', 'unlimited');
  return said[0] === 'told' ? said : null;
}

// A server's sockets keep its loop alive while it waits for the store; without them this process could end first.
setInterval(() => undefined, panicMsMax);

for (let round = 1; ; round += 1) {
  const path = join(directory, `${round}.mdb`);
  const said = await fillUnderFlush(path);
  if (said !== null) {
    process.stdout.write([path, ...said, ''].join('\n'), () => process.exit(0));
    break;
  }
}
