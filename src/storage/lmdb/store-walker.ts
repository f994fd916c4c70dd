/**
 * A walk through every entry of a store's files, in a process of its own: LMDB trusts the pages that it maps, so a damaged
 * file ends the process that reads it with a signal. Each file is named on standard output before it is read; a reason that
 * LMDB gives follows on a line that begins with `error`. It ends with 0 when all is well, or when its time is over.
 * Arguments: the directory, and the milliseconds it has.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { argv, exit, stdout } from 'node:process';
import { open } from 'lmdb';
import { messageOf } from '../../lib/result.ts';
import { SystemClock } from '../../lib/system-clock.ts';
import { environmentOptions } from './environment.ts';
import { storeFileNames } from './store-format.ts';
import { storeReadersMax } from './store-limits.ts';

const [directory = '', msMax = ''] = argv.slice(2);
const clock = new SystemClock();
const untilMs = clock.monotonicMs() + Number(msMax);
/** Looking at the time costs more than an entry. */
const entriesBetween = 256;
const formatName = 'store-format';

interface Entries {
  getRange(): Iterable<unknown>;
  getStats(): object;
}

/** Reads the values, too: they may lie on pages of their own. Throws when there are other entries than the tree counts. */
function walk(entries: Entries): void {
  let count = 0;
  for (const _entry of entries.getRange())
    if (++count % entriesBetween === 0 && clock.monotonicMs() > untilMs) exit(0);
  const { entryCount } = entries.getStats() as { entryCount: number };
  if (count !== entryCount) throw new Error(`it has ${count} entries where it counts ${entryCount}`);
}

for (const name of Object.values(storeFileNames)) {
  const path = join(directory, name);
  if (!existsSync(path)) continue;
  stdout.write(`${name}\n`);
  try {
    const options = { ...environmentOptions, encoding: 'binary', maxReaders: storeReadersMax } as const;
    const root = open<Buffer, Buffer>({ ...options, path, readOnly: true });
    walk(root);
    const tables = [...root.getKeys()].map(String).filter((table) => table !== formatName);
    for (const table of tables) walk(root.openDB({ name: table, keyEncoding: 'binary', encoding: 'binary' }));
    await root.close();
  } catch (error) {
    stdout.write(`error ${messageOf(error)}\n`);
    exit(1);
  }
}
