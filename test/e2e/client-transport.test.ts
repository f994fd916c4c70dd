/** The client's connections to misbehaving servers: whether a request may have been sent. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttpServer, type Server as HttpServer, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { readFileSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import {
  ReveilleClient,
  ReveilleProtocolError,
  ReveilleUnreachableError,
  type ReveilleClientOptions,
} from '../../src/client/reveille-client.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { noOpenssl, TestCertificate } from '../support/test-certificate.ts';

const credential = { accessKeyId: 'AKclient', secretKey: 'a secret of the client', appId: '2818153' };

async function listen(t: TestContext, server: Server | HttpServer): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    if ('closeAllConnections' in server) server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** A server that does this with every connection once it has the request. */
function peer(t: TestContext, meet: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    t.after(() => socket.destroy());
    socket.on('error', () => undefined);
    socket.once('data', () => meet(socket));
  });
  return listen(t, server);
}

function clientOf(t: TestContext, port: number, more: Partial<ReveilleClientOptions> = {}): ReveilleClient {
  const origin = `http://127.0.0.1:${port}`;
  const client = new ReveilleClient({ origin, credential, retry: { attemptsMax: 1 }, ...more });
  t.after(() => client.close());
  return client;
}

async function failureOf(call: Promise<unknown>): Promise<ReveilleUnreachableError> {
  const error = await call.then(
    () => assert.fail('it was answered'),
    (failed: unknown) => failed,
  );
  assert.ok(error instanceof ReveilleUnreachableError, String(error));
  return error;
}

const envelope = { code: 0, message: 'success', data: { in_call: false } };

function answer(response: ServerResponse, body: object = envelope): void {
  response.setHeader('X-Tg-Request-Id', 'r');
  response.end(JSON.stringify(body));
}

test('a refused connection has sent nothing', async (t) => {
  const server = createServer();
  const port = await listen(t, server);
  server.close();
  await once(server, 'close');
  const { message, mayHaveArrived, origin } = await failureOf(clientOf(t, port).sendMessage('D', 'm', {}));
  assert.equal(mayHaveArrived, false);
  assert.equal(origin, `http://127.0.0.1:${port}`);
  assert.equal(message, `no answer from ${origin}: nothing listens there`);
});

test('a connection that breaks before its answer may have carried the request', async (t) => {
  for (const meet of [(socket: Socket) => socket.destroy(), (socket: Socket) => socket.resetAndDestroy()]) {
    const port = await peer(t, meet);
    assert.equal((await failureOf(clientOf(t, port).sendMessage('D', 'm', {}))).mayHaveArrived, true);
  }
});

test('a truncated answer is an error', async (t) => {
  const port = await peer(t, (socket) => {
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"code":0,');
  });
  assert.equal((await failureOf(clientOf(t, port).callStatus('D'))).mayHaveArrived, true);
});

test('the deadline ends a request to a server that does not answer or stalls', async (t) => {
  for (const head of ['', 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"code"']) {
    let met: () => void = () => undefined;
    const arrived = new Promise<void>((resolve) => (met = resolve));
    const port = await peer(t, (socket) => void socket.write(head, () => met()));
    const clock = new DrivenClock();
    const client = clientOf(t, port, { clock });
    const asked = failureOf(client.events({ waitS: 20 }));
    await arrived;
    clock.advance(29_999);
    assert.equal(clock.pendingTimers, 1);
    clock.advance(1);
    const { message, mayHaveArrived } = await asked;
    assert.match(message, /no answer within 30 s$/);
    assert.equal(mayHaveArrived, true);
  }
});

test('an endless answer is read up to a limit', async (t) => {
  const server = createHttpServer((_request, response) => {
    const chunk = Buffer.alloc(1024 * 1024, 0x20);
    const pour = (): void => void response.write(chunk, (error) => error ?? pour());
    pour();
  });
  const port = await listen(t, server);
  await assert.rejects(clientOf(t, port).events(), (error: unknown) => {
    assert.ok(error instanceof ReveilleProtocolError);
    assert.match(error.message, /more than \d+ bytes$/);
    return true;
  });
});

test('an aborted request closes its connection, and keeps the reason', async (t) => {
  let met: (socket: Socket) => void = () => undefined;
  const arrived = new Promise<Socket>((resolve) => (met = resolve));
  const port = await peer(t, (socket) => met(socket));
  const ending = new AbortController();
  const asked = clientOf(t, port).callStatus('D', { signal: ending.signal });
  const socket = await arrived;
  const left = once(socket, 'close');
  ending.abort(new Error('no longer wanted'));
  await assert.rejects(asked, /no longer wanted/);
  await left;
});

test('one connection serves consecutive calls', async (t) => {
  let connections = 0;
  const server = createHttpServer((_request, response) => answer(response));
  server.on('connection', () => (connections += 1));
  const client = clientOf(t, await listen(t, server));
  for (let calls = 0; calls < 3; calls += 1) assert.equal((await client.callStatus('D')).ok, true);
  assert.equal(connections, 1);
});

test('calls wait for a free connection, and long polls do not block other calls', async (t) => {
  const held: ServerResponse[] = [];
  let brief = 0;
  let allHeld: () => void = () => undefined;
  const full = new Promise<void>((resolve) => (allHeld = resolve));
  const server = createHttpServer((request, response) => {
    if (!request.url?.includes('wait=')) {
      brief += 1;
      return answer(response);
    }
    if (held.push(response) === 2) allHeld();
  });
  const client = clientOf(t, await listen(t, server), { socketsMax: 2 });
  const page = { code: 0, message: 'success', data: { events: [], next: 'c', truncated: false } };
  const waiting = [1, 2, 3].map(() => client.events({ waitS: 30 }));
  await full;
  await Promise.all([1, 2, 3, 4].map(() => client.callStatus('D')));
  assert.deepEqual([brief, held.length], [4, 2]);
  for (const response of held.splice(0)) answer(response, page);
  await Promise.all(waiting.slice(0, 2));
  while (held.length === 0) await once(server, 'request');
  for (const response of held) answer(response, page);
  assert.equal((await waiting[2])?.ok, true);
});

test('an untrusted certificate: nothing of the request was sent', { skip: noOpenssl }, async (t) => {
  const certificate = new TestCertificate(temporaryDirectory(t));
  certificate.use('own');
  const files = { cert: readFileSync(certificate.certFile), key: readFileSync(certificate.keyFile) };
  let requests = 0;
  const server = createHttpsServer(files, () => (requests += 1));
  const port = await listen(t, server);
  const origin = `https://127.0.0.1:${port}`;
  const { mayHaveArrived } = await failureOf(clientOf(t, port, { origin }).sendMessage('D', 'm', {}));
  assert.deepEqual([mayHaveArrived, requests], [false, 0]);
});
