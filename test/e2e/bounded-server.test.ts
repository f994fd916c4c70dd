/** The server below the listeners on node:http: exact connection limits, and an answer for every fault. */
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, test } from 'node:test';
import {
  BoundedServer,
  type BoundedServerSettings,
  type RequestReceiver,
} from '../../src/lib/connections/bounded-server.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import { until } from '../support/event-loop.ts';
import { RawPeer } from '../support/raw-peer.ts';

const clock = new DrivenClock();
const peers: RawPeer[] = [];
let server: BoundedServer;
let unanswered: ServerResponse[] = [];

afterEach(() => {
  server.close();
  unanswered = [];
  for (const { socket } of peers.splice(0)) socket.destroy();
});

const receiver: RequestReceiver = {
  requested(request, response) {
    if (request.url === '/proved') server.proved(request.socket);
    if (request.url === '/later') unanswered.push(response);
    else response.end('done');
  },
  answerOf: (fault) => ({ status: 400, headers: { 'Content-Length': String(fault.length) }, body: fault }),
  failed: assert.fail,
};

async function start(settings: Partial<BoundedServerSettings> = {}, receives = receiver): Promise<void> {
  const defaults = { tls: null, headBytesMax: 4096, requestMsMax: 10_000, keepAliveMs: 5000, tcpProbeMs: 0 };
  server = new BoundedServer(clock, { ...defaults, perAddressMax: 0, max: () => 100, ...settings }, receives);
  await server.listen('127.0.0.1', 0);
}

async function peer(address = '127.0.0.1'): Promise<RawPeer> {
  const made = await RawPeer.connect(server.port, address);
  made.socket.on('error', () => undefined);
  peers.push(made);
  return made;
}

/** Resolves when the server has accepted the connection. */
async function silentPeer(address: string): Promise<RawPeer> {
  const seen = server.connectionCount + server.evicted + server.refused;
  const made = await peer(address);
  await until(() => server.connectionCount + server.evicted + server.refused > seen);
  return made;
}

function get(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: here\r\n\r\n`;
}

async function answerTo(to: RawPeer, path: string): Promise<string> {
  to.send(get(path));
  let answer = '';
  while (!answer.endsWith('done')) {
    const byte = await to.read(1);
    assert.notEqual(byte, '', `closed behind ${answer}`);
    answer += byte;
  }
  return answer;
}

test('a keep-alive connection carries many requests', async () => {
  await start();
  const one = await peer();
  for (let n = 0; n < 20; n++) assert.match(await answerTo(one, '/'), /^HTTP\/1.1 200 OK\r\n/);
  clock.advance(60_000);
  assert.match(await answerTo(one, '/'), /^HTTP\/1.1 200 OK\r\n/);
  assert.equal(server.connectionCount, 1);
});

test('without keep-alive a second request closes the connection', async () => {
  await start({ keepAliveMs: 0 });
  const one = await peer();
  await answerTo(one, '/');
  one.send(get('/'));
  await one.gone;
  await until(() => server.connectionCount === 0);
});

test('a connection without a complete first request in time is destroyed', async () => {
  await start();
  const one = await silentPeer('127.0.0.1');
  one.send('GET / HT');
  clock.advance(9999);
  assert.equal(server.connectionCount, 1);
  clock.advance(1);
  await one.gone;
});

test('a full server evicts the oldest unproved connection of the most crowded address', async () => {
  await start({ perAddressMax: 10, max: () => 4 });
  const proved = await peer('127.0.0.9');
  await answerTo(proved, '/proved');
  const crowd = [];
  for (let n = 0; n < 3; n++) crowd.push(await silentPeer('127.0.0.1'));
  const other = await silentPeer('127.0.0.2');
  assert.deepEqual([server.unprovedCount, server.evicted], [4, 0]);
  const newcomer = await silentPeer('127.0.0.3');
  await crowd[0]?.gone;
  await until(() => server.connectionCount === 5);
  assert.deepEqual([server.unprovedCount, server.evicted, server.refused], [4, 1, 0]);
  for (const alive of [proved, other, newcomer, ...crowd.slice(1)]) await answerTo(alive, '/');
});

test('an address has no more unproved connections than its limit', async () => {
  await start({ perAddressMax: 2 });
  const first = await silentPeer('127.0.0.1');
  await silentPeer('127.0.0.1');
  const refused = await silentPeer('127.0.0.1');
  await refused.gone;
  assert.deepEqual([server.unprovedCount, server.refused, server.evicted], [2, 1, 0]);
  clock.advance(2000);
  await silentPeer('127.0.0.1');
  await first.gone;
  assert.deepEqual([server.unprovedCount, server.refused, server.evicted], [2, 1, 1]);
  await answerTo(await silentPeer('127.0.0.2'), '/');
});

const faults: readonly (readonly [string, string])[] = [
  ['malformed', 'GET / HTTP/1.1\r\nno header\r\n\r\n'],
  ['method', 'BREW / HTTP/1.1\r\nHost: here\r\n\r\n'],
  ['method', 'CONNECT here:1 HTTP/1.1\r\nHost: here\r\n\r\n'],
  ['too-large', `GET / HTTP/1.1\r\nHost: here\r\nX: ${'x'.repeat(5000)}\r\n\r\n`],
];
for (const keepAliveMs of [0, 5000])
  test(`every fault is answered and closes its connection (keep-alive ${keepAliveMs} ms)`, async () => {
    await start({ keepAliveMs });
    for (const [fault, bytes] of faults) {
      const one = await peer();
      one.send(bytes);
      const head = `HTTP/1.1 400 Bad Request\r\nContent-Length: ${fault.length}\r\n\r\n`;
      assert.equal(await one.readAll(), `${head}${fault}`);
    }
  });

test('a fault after an answered request is answered, and one after an unanswered request is not', async () => {
  await start();
  const answered = await peer();
  await answerTo(answered, '/');
  answered.send('no request\r\n\r\n');
  assert.match(await answered.readAll(), /^HTTP\/1.1 400 /);
  const waiting = await peer();
  waiting.send(get('/later'));
  await until(() => unanswered.length === 1);
  waiting.send('no request\r\n\r\n');
  assert.equal(await waiting.readAll(), '');
});

test('few requests of a pipelined flood are parsed', async () => {
  await start({ keepAliveMs: 0 });
  let parsed = 0;
  const count = (): void => void (parsed += 1);
  subscribe('http.server.request.start', count);
  const flood = await peer();
  flood.send(get('/').repeat(20_000));
  await flood.gone;
  unsubscribe('http.server.request.start', count);
  assert.ok(parsed > 0 && parsed < 100, `${parsed} requests were parsed`);
});

/** Bytes that the reader of an upgraded connection receives of those sent with the request. */
async function upgradedBytes(bytes: Buffer): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const upgrading = (request: IncomingMessage, head: Buffer): void => {
    const { socket } = request;
    socket.unshift(head);
    socket.on('data', (chunk: Buffer) => chunks.push(chunk)).on('end', () => socket.end());
  };
  await start({ keepAliveMs: 0 }, { ...receiver, upgrading });
  const one = await peer();
  const request = get('/').replace('\r\n\r\n', '\r\nConnection: Upgrade\r\nUpgrade: any\r\n\r\n');
  one.send(Buffer.concat([Buffer.from(request), bytes]));
  one.socket.end();
  await one.gone;
  return Buffer.concat(chunks);
}

test('all bytes sent with an upgrade reach its reader in order', async () => {
  for (const length of [0, 1, 900, 1024, 5000, 100_000, 1_000_000]) {
    const sent = Buffer.from(Array.from({ length }, (_, at) => (at >> 8) ^ at));
    assert.ok((await upgradedBytes(sent)).equals(sent), `${length} bytes`);
    server.close();
  }
});

test('bytes after a CONNECT or a fault are not read as a request', async () => {
  for (const begin of ['CONNECT here:1 HTTP/1.1\r\nHost: here\r\n\r\n', `GET / HTTP/9.9\r\n\r\n`]) {
    await start();
    const [one, other] = [await peer(), await peer()];
    one.send(begin + get('/later').repeat(2000));
    await one.gone;
    assert.match(await answerTo(other, '/'), /^HTTP\/1.1 200 OK\r\n/);
    assert.equal(unanswered.length, 0);
    server.close();
  }
});
