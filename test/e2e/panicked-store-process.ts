/**
 * Makes LMDB panic by a file size limit of this process: the disk accepts the pages of a commit, but not the first pages that complete it.
 * If the flush was faster than the limit, the next file is used. Arguments: a directory, and `known` or `unknown`: the next transaction
 * begins after the panic was noticed, or before.
 */
import { join } from 'node:path';
import { Environment, type Table } from '../../src/storage/lmdb/environment.ts';
import { isPanic, StorePanicError } from '../../src/storage/lmdb/store-fault.ts';
import { limitProcess } from '../support/process-limit.ts';

const [, , directory = '', whether] = process.argv;
/** Size of a commit whose flush takes about as long as setting the limit. */
const flushedBytes = 64 * 1024 * 1024;
const [first, second] = [Buffer.from('first'), Buffer.from('second')];

const outcomeOf = (act: Promise<unknown>): Promise<string> =>
  act.then(
    () => 'taken',
    (error: unknown) => (error instanceof StorePanicError ? 'panic' : String(error)),
  );

/** A flush not refused within this time was faster than the limit, so the next file is used. */
const panicMsMax = 5000;

/** Blocks the loop, so that this thread sends the writer nothing. `table`: of `beside`, which shares the LMDB of both files. */
function awaitPanic(beside: Environment, table: Table<unknown>): void {
  for (const startedMs = performance.now(); performance.now() - startedMs < panicMsMax;) {
    beside.refresh();
    try {
      // An absent key: reading a large value each time would fill the heap.
      table.get(second);
    } catch (error) {
      if (isPanic(error)) return;
      throw error;
    }
  }
}

/** Resolves with the result; null: LMDB has not panicked, or too late. */
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
