/**
 * Reads every entry of a store's files in a process of its own: LMDB trusts the pages that it maps, so a damaged file crashes the
 * process that reads it. Prints the name of each file before reading it. The last line is `error` with LMDB's reason for damage, or
 * `whole`; neither: the time ran out, or the files could not be opened for another reason. Arguments: the directory, and the time
 * limit in milliseconds.
 */
import { existsSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { argv, exit } from 'node:process';
import { open } from 'lmdb';
import { messageOf } from '../../lib/result.ts';
import { SystemClock } from '../../lib/system-clock.ts';
import { environmentOptions } from './environment.ts';
import { isDamage } from './store-fault.ts';
import { storeFileNames, storeFormatName } from './store-format.ts';

const [directory = '', msMax = ''] = argv.slice(2);
const clock = new SystemClock();
const untilMs = clock.monotonicMs() + Number(msMax);
/** Entries between two checks of the time, which cost more than an entry. */
const entriesBetween = 256;
const standardOutput = 1;

interface Entries {
  getRange(): Iterable<unknown>;
  getStats(): object;
}

/** Also reads the values, which may lie on pages of their own. Throws when the number of entries differs from the tree's count. */
function walk(entries: Entries): void {
  let count = 0;
  for (const _entry of entries.getRange())
    if (++count % entriesBetween === 0 && clock.monotonicMs() > untilMs) exit(0);
  const { entryCount } = entries.getStats() as { entryCount: number };
  if (count !== entryCount) throw new Error(`it has ${count} entries, and its tree counts ${entryCount}`);
}

function endBy(error: unknown): never {
  if (isDamage(error)) writeLine(`error ${messageOf(error)}`);
  exit(1);
}

/** Synchronous, because the process may crash next. */
function writeLine(line: string): void {
  writeSync(standardOutput, `${line}\n`);
}

async function walkFiles(): Promise<void> {
  for (const name of Object.values(storeFileNames)) {
    const path = join(directory, name);
    if (!existsSync(path)) continue;
    writeLine(name);
    try {
      const root = open<Buffer, Buffer>({ ...environmentOptions, encoding: 'binary', path, readOnly: true });
      walk(root);
      const tables = [...root.getKeys()].map(String).filter((table) => table !== storeFormatName);
      for (const table of tables)
        walk(root.openDB({ name: table, keyEncoding: 'binary', encoding: 'binary' }));
      await root.close();
    } catch (error) {
      endBy(error);
    }
  }
  writeLine('whole');
}

void walkFiles();
