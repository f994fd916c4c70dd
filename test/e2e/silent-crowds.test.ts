/**
 * Crowds of unproved connections at the HTTP listeners, larger than the limits: new clients are still served, and proved connections
 * stay.
 */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { afterEach, beforeEach, test } from 'node:test';
import { ApiClient } from '../support/api-client.ts';
import { silentConnection } from '../support/floods.ts';
import { statusOf, wrongRequest } from '../support/raw-requests.ts';
import { startTestServer, testCredentials, type TestServer } from '../support/test-server.ts';

const hostile = ['127.0.3.1', '127.0.3.2', '127.0.3.3'];
const endings: (() => unknown)[] = [];

afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

let server: TestServer;
// One for each test: an application keeps a quarter of the connections of a listener that is nearly full.
beforeEach(async () => {
  const listeners = ['api.connections_max=40', 'ops.connections_max=16', 'signal.handshakes_max=20'];
  server = await startTestServer({ overrides: [...listeners, 'ops.connections_per_address_max=0'] });
  endings.push(() => server.stop());
});

function newcomer(): ApiClient {
  const api = new ApiClient(server.ports.api, testCredentials.all);
  endings.push(() => api.close());
  return api;
}

/** Opens this many connections from each address, concurrently as far as the server allows. */
async function crowd(port: number, ofEach: number, bytes = ''): Promise<readonly Socket[]> {
  const sockets: Socket[] = [];
  for (let i = 0; i < ofEach; i++)
    for (const address of hostile) {
      const socket = await silentConnection(port, address);
      if (socket === null) continue;
      socket.resume().write(bytes);
      sockets.push(socket);
      endings.push(() => socket.destroy());
    }
  return sockets;
}

const kinds = {
  'say nothing': '',
  'send half a head': 'GET /v1/device/connectivity HTTP/1.1\r\nHost: a\r\n',
  'send half a body': 'POST /v1/device/wakeup-request HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\n\r\n{',
};

for (const [name, bytes] of Object.entries(kinds))
  test(`api: a crowd of three addresses that ${name} is evicted for new clients, and proved connections stay`, async () => {
    assert.equal((await server.api.connectivity('TESTDEVICE01')).json.code, 0);
    await crowd(server.ports.api, 40, bytes);
    for (let i = 0; i < 5; i++)
      assert.equal((await newcomer().connectivity('TESTDEVICE01')).json.code, 0, `newcomer ${i}`);
    assert.equal((await server.api.connectivity('TESTDEVICE01')).json.code, 0);
    assert.equal(server.api.connectionsMade, 1, 'the proved connection stays');
  });

test('ops: a silent crowd of three addresses is evicted for probes', async () => {
  await crowd(server.ports.ops, 20);
  assert.equal((await server.api.connectivity('TESTDEVICE01')).json.code, 0);
  for (let i = 0; i < 3; i++)
    assert.equal((await fetch(`http://127.0.0.1:${server.ports.ops}/readyz`)).status, 200);
});

test('signal: a silent crowd of three addresses is evicted for controllers', async () => {
  await crowd(server.ports.signal, 20);
  const controller = await server.controller('TESTDEVICE01');
  await crowd(server.ports.signal, 20);
  await (await server.controller('SLEEPING01')).close();
  await controller.close();
});

test('api: wrong signatures over large bodies do not affect other clients', async (t) => {
  const server = await startTestServer();
  t.after(() => server.stop());
  const requests = Array.from({ length: 100 }, (_, n) => wrongRequest(testCredentials.other, n));
  const statuses = new Map<string | null, number>();
  const attacks = Array.from({ length: 150 }, async (_, client) => {
    for (let i = 0; i < 5; i++) {
      const bytes = requests[(client + i) % requests.length] as Buffer;
      const status = await statusOf(server.ports.api, hostile[client % 3] as string, bytes);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  });
  const codes = new Map<unknown, number>();
  const state = { isOver: false };
  void Promise.all(attacks).then(() => (state.isOver = true));
  while (!state.isOver) {
    const asked = Array.from({ length: 10 }, () => server.api.connectivity('TESTDEVICE01'));
    for (const { json } of await Promise.all(asked)) codes.set(json.code, (codes.get(json.code) ?? 0) + 1);
  }
  assert.ok((statuses.get('401') ?? 0) > 250, JSON.stringify([...statuses]));
  assert.deepEqual([...codes.keys()], [0], JSON.stringify([...codes]));
});
