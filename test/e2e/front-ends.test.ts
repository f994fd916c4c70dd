/** A server with fronts starts and stops like one without: its addresses, and the answers of a stop. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { startTestServer, writeTestRegistry } from '../support/test-server.ts';
import { siteDevice, siteRegistry, SiteServer } from '../support/site-server.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';

const skip = process.platform === 'linux' ? false : 'a port has several fronts on Linux alone';
const callers = 16;
const devices = 3;

async function openSite(t: TestContext): Promise<SiteServer> {
  const folder = temporaryDirectory(t);
  const registryFile = join(folder, 'registry.json');
  writeFileSync(registryFile, JSON.stringify(siteRegistry({ devices })));
  const site = new SiteServer(t, join(folder, 'data'), [`registry.file=${registryFile}`], ['--fronts', '2']);
  await site.start();
  return site;
}

test('a free port is the same for every front, and is logged with their number', { skip }, async (t) => {
  const site = await openSite(t);
  const { listeners, fronts } = await site.server.command.logged<{ listeners: object; fronts: number }>(
    'ready',
  );
  assert.deepEqual([listeners, fronts], [{ ...listeners, api: `127.0.0.1:${site.ports.api}` }, 2]);
  assert.notEqual(site.ports.api, 0);
  const asked = Array.from({ length: callers }, () => site.newApi().connectivity(siteDevice(0)));
  for (const { status } of await Promise.all(asked)) assert.equal(status, 200);
});

test('a stop answers every long poll at once, and closes its connection', { skip }, async (t) => {
  const site = await openSite(t);
  const apis = Array.from({ length: callers }, () => site.newApi());
  await Promise.all(apis.map((api) => api.connectivity(siteDevice(0))));
  const waits = apis.map((api) => api.call({ path: '/v1/events', query: 'after=latest&wait=30' }));
  // It is answered when all of them are written.
  await site.newApi().connectivity(siteDevice(0));
  assert.equal(await site.stop(), 0);
  for (const { json, headers } of await Promise.all(waits))
    assert.deepEqual([json.code, headers.connection], [0, 'close']);
});

test('a port in use is refused with the same sentence as without fronts', async (t) => {
  const other = createServer().listen(0, '127.0.0.1');
  t.after(() => other.close());
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  for (const fronts of [0, 2]) {
    const dataDirectory = temporaryDirectory(t);
    await writeTestRegistry(dataDirectory);
    const overrides = [`api.listen=127.0.0.1:${port}`, `api.fronts=${fronts}`];
    await assert.rejects(startTestServer({ dataDirectory, overrides }), {
      message: `cannot listen on 127.0.0.1:${port}: in use, or not an address of this machine`,
    });
  }
});
