/**
 * More silent connections than there is room for: only the listener that they fill is affected, connections in use continue, and one
 * address cannot take all places. Source: decisions.md, File descriptors.
 */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { afterEach, test } from 'node:test';
import { metricsOf } from '../support/driven-server.ts';
import { silentConnection } from '../support/floods.ts';
import { newTestSite } from '../support/test-site.ts';
import { startTestServer } from '../support/test-server.ts';

const hostile = '127.0.3.1';
const endings: (() => unknown)[] = [];

afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

/** The silent connections that the server keeps, after `awaitServer` has shown that it has handled all. */
async function silent(
  count: number,
  port: number,
  address: string,
  awaitServer: () => Promise<unknown>,
): Promise<Socket[]> {
  const made = await Promise.all(Array.from({ length: count }, () => silentConnection(port, address)));
  const open = made.filter((socket) => socket !== null);
  for (const socket of open) {
    socket.resume();
    endings.push(() => socket.destroy());
  }
  await awaitServer();
  await new Promise((turned) => setImmediate(turned));
  return open.filter((socket) => !socket.destroyed && socket.readable);
}

test('a full API closes silent connections for new ones, and serves proved connections, operators and devices', async (t) => {
  const overrides = ['api.connections_max=20', 'api.connections_per_address_max=0'];
  const server = await startTestServer({ overrides });
  t.after(() => server.stop());
  assert.equal((await server.api.connectivity('TESTDEVICE01')).json.code, 0);
  const kept = await silent(60, server.ports.api, hostile, () => server.api.connectivity('TESTDEVICE01'));
  assert.equal(kept.length, 17, 'an eighth of the places is reserved');
  assert.equal((await fetch(`http://127.0.0.1:${server.ports.ops}/readyz`)).status, 200);
  const module = await server.module('SLEEPING01');
  const metrics = await metricsOf(server);
  assert.match(metrics, /^reveille_connections\{listener="api"\} 18$/m);
  await module.close();
});

test('with idle connections beyond the open file limit, probes, devices and open connections are served', async (t) => {
  const site = await newTestSite(t);
  await site.start({ openFilesMax: 2048 });
  const { ports } = site;
  const api = site.api;
  const awaitServer = (): Promise<unknown> => api.connectivity('TESTDEVICE01');
  await awaitServer();
  const kept = await silent(2300, ports.api, hostile, awaitServer);
  assert.ok(kept.length < 512, `${kept.length} were kept`);
  assert.equal((await fetch(`http://127.0.0.1:${ports.ops}/readyz`)).status, 200);
  const module = await site.module('SLEEPING01');
  assert.equal((await site.newApi().wake({ device_id: 'SLEEPING01' })).status, 202);
  await module.close();
});
