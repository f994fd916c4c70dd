/** SIGHUP reloads the registry file without an effect on sessions. */
import assert from 'node:assert/strict';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { startTestSite } from '../support/test-site.ts';
import { testCredentials } from '../support/test-server.ts';

interface RegistryFile {
  credentials: { access_key_id: string; revoked: boolean }[];
  devices: { device_id: string }[];
}

test('after SIGHUP a revoked key is refused and a new device known; a broken file changes nothing', async (t) => {
  const site = await startTestSite(t);
  const { command } = site.server;
  const [api, second] = [site.api, site.newApi(testCredentials.second)];
  const module = await site.module('SLEEPING01');
  assert.equal((await second.connectivity('SLEEPING01')).json.code, 0);

  const file = join(site.directory, 'registry.json');
  const registry = JSON.parse(await readFile(file, 'utf8')) as RegistryFile;
  const [sample] = registry.devices;
  assert.ok(sample !== undefined);
  registry.devices.push({ ...sample, device_id: 'NEW01' });
  for (const credential of registry.credentials)
    if (credential.access_key_id === testCredentials.second.accessKeyId) credential.revoked = true;
  await writeFile(file, JSON.stringify(registry));
  const pid = command.pid ?? 0;
  // Skipped where the temporary directory is private to its owner.
  const canBeOpen = process.platform === 'linux';
  await chmod(site.directory, 0o755);
  await chmod(file, 0o666);
  process.kill(pid, 'SIGHUP');
  if (canBeOpen) await command.line((line) => line.includes('registry.file can be written by other users'));
  await command.line((line) => line.includes('"msg":"registry import: done"') && line.includes('"device":9'));
  assert.equal((await api.connectivity('NEW01')).json.code, 0);
  assert.equal((await second.connectivity('SLEEPING01')).json['message'], 'unknown or revoked credential');

  await writeFile(file, JSON.stringify({ ...registry, devices: [{ device_id: '' }] }));
  process.kill(pid, 'SIGHUP');
  await command.line((line) => line.includes('registry import: failed; nothing changed'));
  assert.equal((await api.connectivity('NEW01')).json.code, 0);
  const woken = await api.wake({ device_id: 'SLEEPING01' });
  assert.equal(woken.status, 202, 'the session felt nothing');
  await module.nextPacket();
  assert.equal(await site.stop(), 0);
});
