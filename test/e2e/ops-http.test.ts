/** HTTP at the ops listener, byte by byte: requirements of RFC 9110 and 9112, and limits. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { findOpsToken } from '../../src/gateways/ops/ops-token.ts';
import {
  opsBodyBytesMax,
  opsHeadBytesMax,
  opsRequestMsMax,
  opsRequestsBeyondMax,
  opsRequestsWaitingMax,
} from '../../src/model/console-limits.ts';
import { startDrivenServer, type DrivenServer } from '../support/driven-server.ts';
import { RawPeer } from '../support/raw-peer.ts';

let server: DrivenServer;
let host = '';
let authorization = '';
before(async () => {
  server = await startDrivenServer();
  host = `127.0.0.1:${server.ports.ops}`;
  authorization = `Authorization: Bearer ${findOpsToken(server.dataDirectory)}`;
});
after(() => server.stop());

/** Resolves when the server has read everything sent before, since it answers in order. */
async function awaitServer(): Promise<void> {
  assert.equal((await fetch(`http://${host}/livez`)).status, 200);
}

async function connect(): Promise<RawPeer> {
  return RawPeer.connect(server.ports.ops);
}

function request(line: string, ...headers: string[]): string {
  return [`${line} HTTP/1.1`, `Host: ${host}`, ...headers, '', ''].join('\r\n');
}

interface Answer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** All answers of a connection until its end. */
async function answersOf(peer: RawPeer): Promise<Answer[]> {
  const text = await peer.readAll();
  peer.socket.destroy();
  return text.split(/(?=HTTP\/1\.1 )/).map((each) => {
    const [head = '', body = ''] = each.split('\r\n\r\n');
    return { status: Number(head.slice(9, 12)), head, body };
  });
}

async function ask(bytes: string): Promise<Answer> {
  const peer = await connect();
  peer.send(bytes);
  const [answer, ...more] = await answersOf(peer);
  assert.deepEqual(more, []);
  return answer ?? assert.fail('no answer');
}

function headerOf({ head }: Answer, name: string): string | undefined {
  return new RegExp(`^${name}: (.*)$`, 'im').exec(head)?.[1];
}

const last = 'Connection: close';

test('a target in absolute form is served, and its authority replaces Host', async () => {
  const counts = '/v1/registry/counts';
  assert.equal((await ask(request('GET http://elsewhere.example/livez', last))).status, 200);
  assert.equal((await ask(request(`GET http://${host}${counts}`, authorization, last))).status, 200);
  assert.equal((await ask(request(`GET HTTP://${host}${counts}`, authorization, last))).status, 200);
  const foreign = await ask(request(`GET http://evil.example${counts}`, authorization, last));
  assert.deepEqual([foreign.status, JSON.parse(foreign.body)], [403, { error: 'unknown Host' }]);
});

test('a HEAD has the header fields of the GET, and no body', async () => {
  for (const path of [
    '/livez',
    '/readyz',
    '/console',
    '/console/console.js',
    '/v1/registry/counts',
    '/nowhere',
  ]) {
    const [get, head] = [
      await ask(request(`GET ${path}`, authorization, last)),
      await ask(request(`HEAD ${path}`, authorization, last)),
    ];
    assert.equal(head.status, get.status, path);
    assert.equal(head.body, '', path);
    assert.equal(headerOf(head, 'Content-Length'), String(Buffer.byteLength(get.body, 'latin1')), path);
    for (const name of ['Content-Type', 'ETag', 'Content-Security-Policy', 'Cache-Control'])
      assert.equal(headerOf(head, name), headerOf(get, name), `${path}: ${name}`);
  }
});

test('OPTIONS is 405 with the methods of the path, for an authorized client', async () => {
  for (const [path, allowed] of [
    ['/livez', 'GET, HEAD'],
    ['/console', 'GET, HEAD'],
    ['/console/login', 'POST'],
    ['/watch', 'GET, HEAD'],
    ['/watch/open', 'POST'],
  ] as const) {
    const answer = await ask(request(`OPTIONS ${path}`, last));
    assert.deepEqual([answer.status, headerOf(answer, 'Allow')], [405, allowed], path);
  }
  assert.equal((await ask(request('OPTIONS /v1/events', last))).status, 401);
  const known = await ask(request('OPTIONS /v1/events', authorization, last));
  assert.deepEqual([known.status, headerOf(known, 'Allow')], [405, 'GET, HEAD']);
  assert.equal((await ask(request('OPTIONS *', authorization, last))).status, 404);
});

test('known methods are 405 on a path, and unknown methods and malformed requests are answered', async () => {
  for (const method of ['PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'M-SEARCH', 'QUERY', 'CONNECT', 'FOO'])
    assert.equal((await ask(request(`${method} /livez`, last))).status, 405, method);
  const wrong = await ask('this is no request\r\n\r\n');
  assert.ok([400, 405].includes(wrong.status));
  assert.equal(typeof (JSON.parse(wrong.body) as { error: unknown }).error, 'string');
  const large = request('GET /livez', `X-Fill: ${'x'.repeat(opsHeadBytesMax)}`);
  assert.equal((await ask(large)).status, 431);
});

test('a path is compared decoded, and one that cannot be decoded is unknown', async () => {
  assert.equal((await ask(request('GET /%6Civez', last))).status, 200);
  assert.equal((await ask(request('GET /%zz', last))).status, 401);
  const unknown = await ask(request('GET /%zz', authorization, last));
  assert.deepEqual([unknown.status, JSON.parse(unknown.body)], [404, { error: 'no such path' }]);
  assert.equal(headerOf(unknown, 'Cache-Control'), 'no-store');
  assert.equal((await ask(request('GET /v1/registry%2Fcounts', last))).status, 401);
});

const json = 'Content-Type: application/json';

test('an empty line after a body is skipped, and the next request is answered', async () => {
  const peer = await connect();
  const body = '{"device_id":"SLEEPING01"}';
  const kick = request('POST /v1/device/kick', authorization, json, `Content-Length: ${body.length}`);
  peer.send(`${kick}${body}\r\n${request('GET /livez', last)}`);
  assert.deepEqual(
    (await answersOf(peer)).map(({ status }) => status),
    [200, 200],
  );
});

test('a chunked body is read, with the coding in any case, and one beyond the limit is refused', async () => {
  const kick = request('POST /v1/device/kick', authorization, json, 'Transfer-Encoding: Chunked', last);
  assert.equal((await ask(`${kick}1a\r\n{"device_id":"SLEEPING01"}\r\n0\r\n\r\n`)).status, 200);
  const size = (opsBodyBytesMax + 1).toString(16);
  assert.equal((await ask(`${kick}${size}\r\n${' '.repeat(opsBodyBytesMax + 1)}`)).status, 413);
});

test('pipelined requests are limited: the answer to the last one ends the connection', async () => {
  const few = await connect();
  few.send(request('GET /livez').repeat(opsRequestsWaitingMax - 2) + request('GET /readyz', last));
  assert.equal((await answersOf(few)).length, opsRequestsWaitingMax - 1);
  const many = await connect();
  many.send(request('GET /livez').repeat(opsRequestsWaitingMax + opsRequestsBeyondMax));
  const answers = await answersOf(many);
  assert.equal(answers.length, opsRequestsWaitingMax);
  assert.deepEqual(
    answers.map((answer) => headerOf(answer, 'Connection') === 'close'),
    answers.map((_, i) => i === opsRequestsWaitingMax - 1),
  );
});

test('an incomplete body ends its connection at the deadline, also after an answered request', async () => {
  const halfLogin = `${request('POST /console/login', json, 'Content-Length: 100')}{`;
  const [first, second] = [await connect(), await connect()];
  first.send(halfLogin);
  second.send(request('GET /livez'));
  assert.match(await second.read(12), /^HTTP\/1\.1 200/);
  second.send(halfLogin);
  await awaitServer();
  server.clock.advance(opsRequestMsMax);
  await Promise.all([first.gone, second.gone]);
  for (const peer of [first, second]) peer.socket.destroy();
});

test('an upload by an operator has no deadline', async () => {
  const peer = await connect();
  const type = 'Content-Type: application/x-ndjson';
  peer.send(request('POST /v1/registry/import', authorization, type, 'Content-Length: 4', last));
  await awaitServer();
  server.clock.advance(60 * opsRequestMsMax);
  await awaitServer();
  peer.send('null');
  const [answer] = await answersOf(peer);
  assert.equal(answer?.status, 200);
});

test('refusing an unread body ends the connection', async () => {
  const answer = await ask(request('POST /v1/nowhere', authorization, json, 'Content-Length: 1000000'));
  assert.deepEqual([answer.status, headerOf(answer, 'Connection')], [404, 'close']);
});
