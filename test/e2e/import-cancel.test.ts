/** An import into a running server that is cancelled while it waits to write. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { withRegistry } from '../../src/cli/admin/local-registry.ts';
import { LongCommand } from '../support/cli-process.ts';
import { HeldStore } from '../support/held-store.ts';
import { sampleRegistry } from '../support/registry-entries.ts';
import { startServerProcess } from '../support/server-process.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';

const countDevices = (directory: string): Promise<number> =>
  withRegistry(directory, async (registry) => (await registry.counts()).device);

test('an import is aborted when it is cancelled, or its connection closes, before the commit', async (t) => {
  const parent = temporaryDirectory(t);
  const directory = join(parent, 'data');
  const registry = join(parent, 'registry.json');
  writeFileSync(registry, JSON.stringify(sampleRegistry));
  const more = join(parent, 'more.json');
  writeFileSync(more, JSON.stringify({ devices: [{ ...sampleRegistry.devices[0], device_id: 'MORE' }] }));
  const { command: server } = await startServerProcess(t, [
    `data.dir=${directory}`,
    `registry.file=${registry}`,
  ]);
  const importing = (): LongCommand =>
    new LongCommand(t, ['registry', 'import', more, '--data-dir', directory]);

  const first = await HeldStore.block(directory, 'registry');
  const interrupted = importing();
  await server.logged('registry import: started', 2);
  const ended = interrupted.stop('SIGINT');
  await server.logged('registry import: cancelled by its caller');
  await first.release();
  assert.equal(await ended, 1);
  assert.match(
    interrupted.stderr,
    /cancelling the import\n.*more\.json: the import was cancelled\n +nothing was changed\n$/,
  );
  assert.equal(await countDevices(directory), 2);

  const second = await HeldStore.block(directory, 'registry');
  const killed = importing();
  await server.logged('registry import: started', 3);
  await killed.stop('SIGKILL');
  await server.logged('registry import: cancelled by its caller', 2);
  await second.release();
  await server.logged('registry import: failed; nothing changed', 2);
  assert.equal(await countDevices(directory), 2);

  assert.equal(await server.stop('SIGTERM'), 0);
});
