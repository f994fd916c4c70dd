import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { moduleBeside } from '../../../../src/lib/module-worker.ts';
import { forkProcess } from '../../../../src/server/supervisor/process-channel.ts';
import { temporaryDirectory } from '../../../support/temporary-store.ts';

/** Reports its young generation after a storm of objects that live on for a while. */
const program = `
  import { getHeapSpaceStatistics } from 'node:v8';
  let kept = [];
  for (let made = 0; made < 2_000_000; made += 1) {
    if (made % 100_000 === 0) kept = [];
    kept.push({ made: [made] });
  }
  const space = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
  process.send({ kind: 'young', bytes: space.space_size });
`;

test('the young generation of a process does not grow beyond its bound in a storm', async (t) => {
  const file = join(temporaryDirectory(t), 'storm.mjs');
  writeFileSync(file, program);
  const fork = forkProcess(file, []);
  const reported = new Promise<unknown>((resolve) => fork.onReport(resolve));
  assert.deepEqual(await reported, { kind: 'young', bytes: 2 * 4 * 1024 * 1024 });
  assert.equal(await fork.ended, 'exit code 0');
});

test('the supervisor receives heartbeats of a process that is busy in one turn of its event loop', async (t) => {
  const file = join(temporaryDirectory(t), 'received');
  const fork = forkProcess(fileURLToPath(moduleBeside('./busy-process', import.meta.url)), [file]);
  t.after(() => fork.kill());
  fork.onReport(({ kind }) => {
    assert.equal(kind, 'heartbeat');
    writeFileSync(file, '');
  });
  assert.equal(await fork.ended, 'exit code 0');
});
