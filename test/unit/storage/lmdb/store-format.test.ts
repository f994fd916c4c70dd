import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { open } from 'lmdb';
import { checkRegistry } from '../../../../src/cli/doctor/doctor-registry.ts';
import { CommandContext } from '../../../../src/cli/shell/command-context.ts';
import { environmentOptions } from '../../../../src/storage/lmdb/environment.ts';
import { openStore } from '../../../../src/storage/lmdb/open-store.ts';
import { storeFormat, storeFormatName } from '../../../../src/storage/lmdb/store-format.ts';
import { temporaryDirectory, type Ending } from '../../../support/temporary-store.ts';

/** Creates a store with a changed format number in one file; null: removed. */
async function storeOfFormat(t: Ending, file: string, format: number | null): Promise<string> {
  const directory = join(temporaryDirectory(t), 'data');
  await openStore(directory).close();
  const root = open<number, Buffer>({ ...environmentOptions, path: join(directory, file) });
  const key = Buffer.from(storeFormatName);
  if (format === null) root.removeSync(key);
  else root.putSync(key, format);
  await root.close();
  return directory;
}

function refusal(directory: string, has: string): string {
  return (
    `the store in ${directory} has ${has} and this release reads format ${storeFormat}: ` +
    'run the release that wrote it, or export its registry with that release and import it into another data directory'
  );
}

for (const [file, format, has] of [
  ['registry.mdb', storeFormat + 1, `format ${storeFormat + 1}`],
  ['state.mdb', storeFormat + 1, `format ${storeFormat + 1}`],
  ['state.mdb', null, 'no format'],
] as const)
  test(`a store whose ${file} has ${has} is refused by every way to open it, with one sentence`, async (t) => {
    const directory = await storeOfFormat(t, file, format);
    const message = refusal(directory, has);
    assert.throws(() => openStore(directory), { name: 'StoreOpenError', message });
    await setImmediate();
    const context = new CommandContext({ set: [`data.dir=${directory}`] }, {});
    const [finding] = await checkRegistry(context);
    assert.deepEqual([finding?.check, finding?.state, finding?.found], ['store', 'fail', message]);
  });
