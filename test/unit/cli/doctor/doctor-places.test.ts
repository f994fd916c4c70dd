/** The doctor's checks of the data directory, the listeners, a running server and NATS. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkCluster } from '../../../../src/cli/doctor/doctor-cluster.ts';
import { checkDirectory, isOpenable } from '../../../../src/server/health/directory-checks.ts';
import { checkListeners } from '../../../../src/cli/doctor/doctor-listeners.ts';
import type { Finding } from '../../../../src/server/health/finding.ts';
import { CommandContext } from '../../../../src/cli/shell/command-context.ts';
import { writeRuntimeFile } from '../../../../src/server/bootstrap/runtime-file.ts';
import { ServerLock } from '../../../../src/storage/lmdb/data-directory.ts';
import { openStore } from '../../../../src/storage/lmdb/open-store.ts';
import { freeListens } from '../../../support/server-process.ts';
import { temporaryDirectory } from '../../../support/temporary-store.ts';

function inBrief(findings: readonly Finding[]): string[] {
  return findings.map(({ check, state }) => `${check} ${state}`);
}

test('the doctor checks a data directory that is absent, valid, readable by others, or has a damaged store', async (t) => {
  const directory = join(temporaryDirectory(t), 'data');
  assert.deepEqual(inBrief(await checkDirectory(directory)).slice(0, 1), ['data directory warn']);
  await openStore(directory).close();
  const [place, , files] = inBrief(await checkDirectory(directory));
  assert.deepEqual([place, files], ['data directory ok', 'store files ok']);
  if (process.platform !== 'win32') {
    chmodSync(directory, 0o755);
    assert.deepEqual(inBrief(await checkDirectory(directory)).slice(0, 1), ['data directory warn']);
  }
  writeFileSync(join(directory, 'registry.mdb'), 'no store');
  const damaged = await checkDirectory(directory);
  assert.deepEqual(inBrief(damaged).slice(2), ['store files fail']);
  assert.equal(isOpenable(damaged), false);
});

for (const [name, freeBytes, storedBytes, state] of [
  ['room for everything', 50e9, 1e9, 'ok'],
  ['little beside a large store', 2e9, 1e9, 'warn'],
  ['little beside a small store', 0.9e9, 1e6, 'warn'],
  ['none', 50e6, 1e6, 'fail'],
] as const)
  test(`a disk with ${name}: ${state}`, async (t) => {
    const directory = temporaryDirectory(t);
    const file = join(directory, 'state.mdb');
    writeFileSync(file, '');
    truncateSync(file, storedBytes);
    const findings = await checkDirectory(directory, () => freeBytes);
    assert.ok(inBrief(findings).includes(`disk ${state}`));
  });

test('a running server that is not ready fails, with its reasons in words', async (t) => {
  const directory = temporaryDirectory(t);
  const context = new CommandContext({ dataDir: directory }, {});
  let probe: object = {};
  const server = createServer((_request, response) => response.end(JSON.stringify(probe)));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => void server.close());
  const lock = new ServerLock(directory);
  t.after(() => lock.release());
  const { port } = server.address() as AddressInfo;
  writeRuntimeFile(directory, { ops: `127.0.0.1:${port}` }, context.settings);
  const judged = async (ready: boolean, reasons: string[]): Promise<Finding | undefined> => {
    probe = { ready, reasons };
    return (await checkListeners(context))[0];
  };
  assert.equal((await judged(true, []))?.state, 'ok');
  assert.equal((await judged(true, ['cluster']))?.state, 'warn');
  const store = await judged(false, ['store']);
  assert.equal(store?.state, 'fail');
  assert.match(store.found, /is not ready \(store\)/);
  assert.match(String(store.advice), /the store refuses writes/);
});

test('the doctor checks only the listeners that this server would open', async (t) => {
  const looked = async (media: string): Promise<string[]> => {
    const set = [...freeListens, `media.process=${media}`];
    return inBrief(await checkListeners(new CommandContext({ dataDir: temporaryDirectory(t), set }, {})));
  };
  const others = ['server ok', 'api listener ok', 'sleep listener ok', 'signal listener ok'];
  assert.deepEqual(await looked('child'), [...others, 'media listener ok', 'ops listener ok']);
  assert.deepEqual(await looked('none'), [...others, 'ops listener ok']);
});

test('the doctor checks NATS in a cluster; an unreachable server fails, and no secret is shown', async () => {
  assert.deepEqual(await checkCluster(new CommandContext({}, {})), []);
  const set = ['cluster.nats_url=nats://reveille:s3cret@127.0.0.1:1', 'cluster.node_name=a'];
  const [nats, ...more] = await checkCluster(new CommandContext({ set }, {}));
  assert.deepEqual([nats?.state, more], ['fail', []]);
  assert.match(String(nats?.found), /^no connection to nats:\/\/127\.0\.0\.1:1: /);
});
