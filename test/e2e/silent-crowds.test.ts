/**
 * Crowds of connections that prove nothing, or that one application keeps, on the listeners of the front end's library: each
 * listener is small, and the crowd is larger. A newcomer gets in, and the proved connections stay.
 */
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { afterEach, test } from 'node:test';
import { ApiClient, type ApiAnswer } from '../support/api-client.ts';
import { silentConnection } from '../support/floods.ts';
import { encodeRequest, statusOf, wrongRequest } from '../support/raw-requests.ts';
import { startTestServer, testCredentials, type TestServer } from '../support/test-server.ts';

const hostile = ['127.0.3.1', '127.0.3.2', '127.0.3.3'];
const endings: (() => unknown)[] = [];

afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

async function start(...overrides: string[]): Promise<TestServer> {
  const server = await startTestServer({ overrides });
  endings.push(() => server.stop());
  return server;
}

function newcomer(server: TestServer, credential = testCredentials.all): ApiClient {
  const api = new ApiClient(server.ports.api, credential);
  endings.push(() => api.close());
  return api;
}

/** So many of each address, all of them open at the same time as far as the server lets them. */
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

/** One whole request of each address that proves nothing; resolves when its connection is closed. */
async function askOfEach(port: number): Promise<void> {
  for (const localAddress of hostile)
    await new Promise<void>((closed) => {
      const socket = connect({ port, host: '127.0.0.1', localAddress });
      socket.on('error', () => undefined).on('close', () => closed());
      socket.resume().write('GET /v1/device/connectivity HTTP/1.1\r\nHost: a\r\n\r\n');
    });
}

const kinds = {
  'say nothing': '',
  'send half a head': 'GET /v1/device/connectivity HTTP/1.1\r\nHost: a\r\n',
  'send half a body': 'POST /v1/device/wakeup-request HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\n\r\n{',
};

for (const [name, bytes] of Object.entries(kinds))
  test(`api: a crowd of three addresses that ${name} yields to newcomers, and the proved stay`, async () => {
    const server = await start('api.connections_max=40');
    assert.equal((await server.api.connectivity('TESTDEVICE01')).json.code, 0);
    await crowd(server.ports.api, 40, bytes);
    for (let i = 0; i < 5; i++)
      assert.equal((await newcomer(server).connectivity('TESTDEVICE01')).json.code, 0, `newcomer ${i}`);
    assert.equal((await server.api.connectivity('TESTDEVICE01')).json.code, 0);
    assert.equal(server.api.connectionsMade, 1, 'the proved connection stays');
  });

test('api: addresses that ask between their silent connections leave places for newcomers', async () => {
  const server = await start('api.connections_max=80');
  for (let round = 0; round < 10; round++) {
    await crowd(server.ports.api, 10);
    await askOfEach(server.ports.api);
  }
  for (let i = 0; i < 5; i++)
    assert.equal((await newcomer(server).connectivity('TESTDEVICE01')).json.code, 0, `newcomer ${i}`);
});

test('ops: a silent crowd of three addresses yields to probes', async () => {
  const server = await start('ops.connections_max=16', 'ops.connections_per_address_max=0');
  await crowd(server.ports.ops, 20);
  for (let i = 0; i < 3; i++)
    assert.equal((await fetch(`http://127.0.0.1:${server.ports.ops}/readyz`)).status, 200);
});

test('ops: while half of the places are taken, each answer ends its connection', async () => {
  const server = await start('ops.connections_max=16');
  const probe = async (): Promise<string | null> =>
    (await fetch(`http://127.0.0.1:${server.ports.ops}/livez`)).headers.get('connection');
  assert.notEqual(await probe(), 'close');
  await crowd(server.ports.ops, 5);
  assert.equal(await probe(), 'close');
});

test('signal: a silent crowd of three addresses yields to controllers', async () => {
  const server = await start('signal.handshakes_max=20');
  await crowd(server.ports.signal, 20);
  const controller = await server.controller('TESTDEVICE01');
  await crowd(server.ports.signal, 20);
  await (await server.controller('SLEEPING01')).close();
  await controller.close();
});

/** A connection with one answered query, kept open as long as the server keeps it. */
async function keepOne(server: TestServer): Promise<void> {
  const socket = connect({ port: server.ports.api, host: '127.0.0.1', localAddress: '127.0.3.1' });
  endings.push(() => socket.destroy());
  socket
    .on('error', () => undefined)
    .write(encodeRequest({ credential: testCredentials.other, rawQuery: 'device_id=FOREIGN01' }));
  await new Promise((answered) => socket.once('data', answered).once('close', answered));
}

test('api: connections that one application keeps leave places for others', async () => {
  const server = await start('api.connections_max=40', 'api.connections_per_address_max=0');
  for (let i = 0; i < 60; i++) await keepOne(server);
  const answers: ApiAnswer[] = [];
  for (let i = 0; i < 5; i++) answers.push(await newcomer(server).connectivity('TESTDEVICE01'));
  assert.deepEqual(
    answers.map(({ json }) => json.code),
    [0, 0, 0, 0, 0],
  );
  assert.notEqual(answers[0]?.headers.connection, 'close', 'another application keeps its connection');
});

for (const verification of ['pool', 'inline'])
  test(`api: wrong signatures over large bodies cost nobody else an answer (${verification})`, async () => {
    const server = await start(`auth.verification=${verification}`);
    const requests = Array.from({ length: 100 }, (_, n) => wrongRequest(testCredentials.other, n));
    const statuses = new Map<string | null, number>();
    const attacks = Array.from({ length: 300 }, async (_, client) => {
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
    assert.ok((statuses.get('401') ?? 0) > 500, JSON.stringify([...statuses]));
    assert.deepEqual([...codes.keys()], [0], JSON.stringify([...codes]));
  });
