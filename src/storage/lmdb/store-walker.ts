/**
 * A walk through every entry of a store's files, in a process of its own: LMDB trusts the pages that it maps, so a damaged
 * file ends the process that reads it with a signal. Each file is named on standard output before it is read. The last line
 * is `error` and a reason that LMDB gives for damage, or `whole`; neither: its time was over, or something keeps the files
 * from being opened that is no damage. Arguments: the directory, and the milliseconds it has.
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
/** Looking at the time costs more than an entry. */
const entriesBetween = 256;
const standardOutput = 1;

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

function endBy(error: unknown): never {
  if (isDamage(error)) say(`error ${messageOf(error)}`);
  exit(1);
}

/** At once, before this process may end. */
function say(line: string): void {
  writeSync(standardOutput, `${line}\n`);
}

for (const name of Object.values(storeFileNames)) {
  const path = join(directory, name);
  if (!existsSync(path)) continue;
  say(name);
  try {
    const root = open<Buffer, Buffer>({ ...environmentOptions, encoding: 'binary', path, readOnly: true });
    walk(root);
    const tables = [...root.getKeys()].map(String).filter((table) => table !== storeFormatName);
    for (const table of tables) walk(root.openDB({ name: table, keyEncoding: 'binary', encoding: 'binary' }));
    await root.close();
  } catch (error) {
    endBy(error);
  }
}
say('whole');
