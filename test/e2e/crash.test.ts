/** `kill -9`: what was answered is there afterwards, and what was open is ended once, before anybody is let in. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import { ApiClient, type ApiAnswer } from '../support/api-client.ts';
import { startServerProcess, type ServerProcess } from '../support/server-process.ts';
import { testCredentials, writeTestRegistry } from '../support/test-server.ts';

const device = 'SLEEPING01';

function login(server: ServerProcess, deviceId: string): Promise<SleepingModule> {
  return SleepingModule.connect(server.ports.sleep, { deviceId, secret: `secret of ${deviceId}` });
}

function sleepOf(answer: ApiAnswer): Record<string, number | null> {
  assert.equal(answer.json.code, 0, answer.text);
  return (answer.json.data as { sleep: Record<string, number | null> }).sleep;
}

test('a crash loses nothing that was answered: logins, accepted wakeups; and ends open sessions once', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'reveille-crash-'));
  const overrides = [`data.dir=${directory}`, `registry.file=${await writeTestRegistry(directory)}`];
  const first = await startServerProcess(t, overrides);
  const api = new ApiClient(first.ports.api, testCredentials.all);
  const modules = [await login(first, device), await login(first, 'SLEEPING02')];
  const told = [sleepOf(await api.connectivity(device)), sleepOf(await api.connectivity('SLEEPING02'))];
  const spoil = { 'X-Request-ID': 'ring-before-the-crash' };
  const accepted = await api.wake({ device_id: device }, { spoil });
  assert.equal(accepted.status, 202);
  await waitUntilCommitted(api);
  await first.command.stop('SIGKILL');
  await Promise.all(modules.map(({ closed }) => closed));
  api.close();

  const second = await startServerProcess(t, overrides);
  const again = new ApiClient(second.ports.api, testCredentials.all);
  const found = [sleepOf(await again.connectivity(device)), sleepOf(await again.connectivity('SLEEPING02'))];
  assert.deepEqual(
    found.map((sleep) => sleep['last_login_at']),
    told.map((sleep) => sleep['last_login_at']),
  );
  for (const [i, sleep] of found.entries())
    assert.ok(Number(sleep['last_offline_at']) >= Number(told[i]?.['last_login_at']), 'ended as node_lost');
  const repeated = await again.wake({ device_id: device }, { spoil });
  assert.deepEqual([repeated.status, repeated.json.data], [202, accepted.json.data]);
  await second.command.stop('SIGKILL');
  again.close();

  const third = await startServerProcess(t, overrides);
  const once = new ApiClient(third.ports.api, testCredentials.all);
  assert.deepEqual(sleepOf(await once.connectivity(device)), found[0], 'the end is not told again');
  once.close();
  assert.equal(await third.command.stop('SIGTERM'), 0);
  await rm(directory, { recursive: true });
});

/** A 202 never waits for the store; what happened more than a second ago is there, and a query's record at once. */
async function waitUntilCommitted(api: ApiClient): Promise<void> {
  const since = performance.now();
  while (performance.now() - since < 1000) await api.connectivity(device);
}

test('a second signal ends a draining server at once', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'reveille-drain-'));
  const server = await startServerProcess(t, [
    `data.dir=${directory}`,
    `registry.file=${await writeTestRegistry(directory)}`,
    'sleep.drain_per_second=1',
  ]);
  const modules = await Promise.all([device, 'SLEEPING02', 'TESTDEVICE01'].map((id) => login(server, id)));
  const firstGone = Promise.race(modules.map(({ closed }) => closed));
  const draining = server.command.stop('SIGTERM');
  await firstGone;
  const code = await server.command.stop('SIGTERM');
  assert.equal(await draining, code);
  assert.notEqual(code, 0);
  await rm(directory, { recursive: true });
});
