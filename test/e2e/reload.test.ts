/** SIGHUP: the registry file again, in a running process, without a session feeling it. */
import assert from 'node:assert/strict';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import { ApiClient } from '../support/api-client.ts';
import { startServerProcess } from '../support/server-process.ts';
import { testCredentials, writeTestRegistry } from '../support/test-server.ts';

interface RegistryFile {
  credentials: { access_key_id: string; revoked: boolean }[];
  devices: { device_id: string }[];
}

test('after SIGHUP a revoked key is refused and a new device known; a broken file changes nothing', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'reveille-reload-'));
  const file = await writeTestRegistry(directory);
  const server = await startServerProcess(t, [
    `data.dir=${join(directory, 'data')}`,
    `registry.file=${file}`,
  ]);
  const api = new ApiClient(server.ports.api, testCredentials.all);
  const second = new ApiClient(server.ports.api, testCredentials.second);
  const options = { deviceId: 'SLEEPING01', secret: 'secret of SLEEPING01' };
  const module = await SleepingModule.connect(server.ports.sleep, options);
  assert.equal((await second.connectivity('SLEEPING01')).json.code, 0);

  const registry = JSON.parse(await readFile(file, 'utf8')) as RegistryFile;
  const [sample] = registry.devices;
  assert.ok(sample !== undefined);
  registry.devices.push({ ...sample, device_id: 'NEW01' });
  for (const credential of registry.credentials)
    if (credential.access_key_id === testCredentials.second.accessKeyId) credential.revoked = true;
  await writeFile(file, JSON.stringify(registry));
  const pid = server.command.pid ?? 0;
  // Not where a temporary directory is its owner's alone.
  const canBeOpen = process.platform === 'linux';
  await chmod(directory, 0o755);
  await chmod(file, 0o666);
  process.kill(pid, 'SIGHUP');
  if (canBeOpen)
    await server.command.line((line) => line.includes('registry.file can be written by other users'));
  await server.command.line(
    (line) => line.includes('"msg":"registry imported"') && line.includes('"device":10'),
  );
  assert.equal((await api.connectivity('NEW01')).json.code, 0);
  assert.equal((await second.connectivity('SLEEPING01')).json['message'], 'unknown or revoked credential');

  await writeFile(file, JSON.stringify({ ...registry, devices: [{ device_id: '' }] }));
  process.kill(pid, 'SIGHUP');
  await server.command.line((line) => line.includes('registry not imported; nothing changed'));
  assert.equal((await api.connectivity('NEW01')).json.code, 0);
  const woken = await api.wake({ device_id: 'SLEEPING01' });
  assert.equal(woken.status, 202, 'the session felt nothing');
  await module.nextPacket();

  api.close();
  second.close();
  assert.equal(await server.command.stop('SIGTERM'), 0);
  await rm(directory, { recursive: true });
});
