/** HTTP by RFC 9110 and RFC 9112 on the API, media and ops listeners, and the known limits of the API's parser. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { hasOldParser, readBefore } from '../support/api-parser.ts';
import { encodeRequest } from '../support/raw-requests.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { startTestServer, testBridgeKeys, type TestServer } from '../support/test-server.ts';

let server: TestServer;
let apiIsOld: boolean;
before(async () => {
  server = await startTestServer();
  apiIsOld = await hasOldParser(server.ports.api);
});
after(() => server.stop());

type Listener = 'api' | 'media' | 'ops';

/** Everything that the server sends until it closes. */
async function ask(listener: Listener, text: string | Buffer): Promise<string> {
  const peer = await RawPeer.connect(server.ports[listener]);
  peer.send(text);
  return peer.readAll();
}

const closing = 'Host: 127.0.0.1\r\nConnection: close\r\n';

/** Head of a query that closes its connection. */
function signedQuery(): string {
  const query = { credential: server.credentials.all, rawQuery: 'device_id=TESTDEVICE01' };
  return encodeRequest(query).toString().replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n');
}

function opsToken(): string {
  return readFileSync(join(server.dataDirectory, 'ops.token'), 'utf8').trim();
}

for (const scheme of ['bearer', 'bEARER '])
  test(`the scheme ${JSON.stringify(scheme)} is read on the ops listener and for a bridge`, async () => {
    const onOps = await ask(
      'ops',
      `GET /v1/events HTTP/1.1\r\n${closing}Authorization: ${scheme} ${opsToken()}\r\n\r\n`,
    );
    assert.match(onOps, /^HTTP\/1\.1 200 /);
    const peer = await RawPeer.connect(server.ports.media);
    peer.send(
      'GET /media/v1/bridge HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n' +
        `Authorization: ${scheme} ${testBridgeKeys.own}\r\n\r\n`,
    );
    assert.match(await peer.read(12), /^HTTP\/1\.1 101/);
    peer.socket.destroy();
  });

for (const [name, spell] of [
  ['lower', (text: string) => text.toLowerCase()],
  ['upper', (text: string) => text.toUpperCase()],
] as const)
  test(`header names in ${name} case are read`, async () => {
    const respelled = signedQuery().replaceAll(/^[\w-]+(?=: )/gm, spell);
    assert.match(await ask('api', respelled), /^HTTP\/1\.1 200 .*"code":0/s);
    const header = spell('Authorization');
    const onOps = await ask(
      'ops',
      `GET /v1/events HTTP/1.1\r\n${closing}${header}: Bearer ${opsToken()}\r\n\r\n`,
    );
    assert.match(onOps, /^HTTP\/1\.1 200 /);
  });

test('a HEAD on the API and media has no body, but its length', async () => {
  const paths: readonly (readonly [Listener, string])[] = [
    ['api', '/v1/device/connectivity'],
    ['api', '/v1/device/wakeup-request'],
    ['api', '/nowhere'],
    ['media', '/media/v1/device'],
    ['media', '/media/v1/downlink.mjpeg'],
    ['media', '/media/v1/whip'],
    ['media', '/nowhere'],
  ];
  for (const [listener, path] of paths) {
    const [head = '', body] = (await ask(listener, `HEAD ${path} HTTP/1.1\r\n${closing}\r\n`)).split(
      '\r\n\r\n',
    );
    const [putHead = '', putBody = ''] = (
      await ask(listener, `PUT ${path} HTTP/1.1\r\n${closing}\r\n`)
    ).split('\r\n\r\n');
    assert.equal(body, '', path);
    assert.deepEqual(head.split('\r\n')[0], putHead.split('\r\n')[0], path);
    assert.equal(/^content-length: (\d+)$/im.exec(head)?.[1], String(Buffer.byteLength(putBody)), path);
  }
});

test('OPTIONS names the methods of a path', async () => {
  const methods: readonly (readonly [Listener, string, string, string])[] = [
    ['api', '/v1/device/connectivity', '405', 'GET'],
    ['api', '/v1/device/wakeup-request', '405', 'POST, GET'],
    ['media', '/media/v1/device', '405', 'GET'],
    ['media', '/media/v1/whip', '204', 'POST, OPTIONS'],
    ['media', '/media/v1/whip/a-session', '204', 'PATCH, DELETE, OPTIONS'],
  ];
  for (const [listener, path, status, allow] of methods) {
    const answer = await ask(listener, `OPTIONS ${path} HTTP/1.1\r\n${closing}\r\n`);
    assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} .*\r\nAllow: ${allow}\r\n`, 's'), path);
  }
});

test('a client of the API that awaits 100 Continue receives it, and then its answer', async () => {
  const body = Buffer.from('{"device_id":"TESTDEVICE01"}');
  const request = {
    credential: server.credentials.all,
    method: 'POST',
    path: '/v1/device/wakeup-request',
    body,
  };
  const [head = ''] = encodeRequest(request).toString().split('\r\n\r\n');
  const peer = await RawPeer.connect(server.ports.api);
  peer.send(`${head}\r\nExpect: 100-continue\r\n\r\n`);
  const interim = 'HTTP/1.1 100 Continue\r\n\r\n';
  assert.equal(await peer.read(interim.length), interim);
  peer.send(body);
  assert.match(await peer.read(12), /^HTTP\/1\.1 404$/, 'the device is not connected');
  peer.socket.destroy();
});

test('X-Request-ID may not contain bytes from 0x80 up, except at its ends with the old parser, which removes them', async () => {
  const idOf = async (given: string): Promise<string | undefined> => {
    const head = `POST /v1/device/wakeup-request HTTP/1.1\r\n${closing}X-Request-ID: ${given}\r\n\r\n`;
    const answer = await ask('api', Buffer.from(head, 'utf8'));
    return /X-Tg-Request-Id: (.*)\r\n/i.exec(answer)?.[1];
  };
  const generated = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;
  for (const inside of ['caféx', 'a\u0080b', 'é', 'a\u007fb'])
    assert.match((await idOf(inside)) ?? '', generated, inside);
  for (const atEnd of ['café', 'écaf', 'écafé']) {
    const id = await idOf(atEnd);
    if (apiIsOld) assert.equal(id, 'caf', atEnd);
    else assert.match(id ?? '', generated, atEnd);
  }
});

/** Answered with a plain 505 by the old parser of the API. */
for (const [name, line] of [
  ['an absolute target', 'GET http://127.0.0.1/v1/device/connectivity HTTP/1.1'],
  ['a target that is *', 'OPTIONS * HTTP/1.1'],
  ['HTTP/1.0', 'GET /v1/device/connectivity HTTP/1.0'],
] as const)
  test(`a request with ${name} is answered, with 505 by the old parser of the API`, async () => {
    const answer = await ask('api', `${line}\r\n${closing}\r\n`);
    if (apiIsOld) assert.match(answer, /^HTTP\/1\.1 505 .*\r\nConnection: close\r\n\r\n.*uWebSockets/s);
    else assert.doesNotMatch(answer, /uWebSockets/);
  });

/** Never complete for the old parser, which waits until its idle limit of 10 s. A newer one answers 400 or reads further. */
const unreadable: readonly (readonly [name: string, begin: string])[] = [
  ['a control character in a header', `GET /nowhere HTTP/1.1\r\n${closing}X-Request-ID: a\u0001b\r\n\r\n`],
  ['a bare carriage return in a header', `GET /nowhere HTTP/1.1\r\n${closing}X-Request-ID: a\rb\r\n\r\n`],
  ['a bare line feed in a header', `GET /nowhere HTTP/1.1\r\n${closing}A: a\nb\r\n\r\n`],
  ['a header without a colon', `GET /nowhere HTTP/1.1\r\n${closing}A\r\n\r\n`],
  ['a space in the name of a header', `GET /nowhere HTTP/1.1\r\n${closing}X Request: a\r\n\r\n`],
  ['no header at all', 'GET /nowhere HTTP/1.1\r\n\r\n'],
  ['an empty line before it', `\r\nGET /nowhere HTTP/1.1\r\n${closing}\r\n`],
];
for (const [name, text] of unreadable)
  test(`a request with ${name} is answered, except by the old parser of the API, which waits for more`, async () => {
    const peer = await RawPeer.connect(server.ports.api);
    peer.send(text);
    if (!apiIsOld) assert.match(await peer.read(9), /^HTTP\/1\.1 $/);
    await readBefore(server.ports.api);
    if (apiIsOld) assert.equal(peer.unread, 0);
    peer.socket.destroy();
  });

test('a line break after a body is skipped, except by the old parser of the API, which swallows the next request', async () => {
  const body = Buffer.from('{"device_ids":["TESTDEVICE01"]}');
  const query = {
    credential: server.credentials.all,
    method: 'POST',
    path: '/v1/devices/connectivity',
    body,
  };
  const peer = await RawPeer.connect(server.ports.api);
  peer.send(Buffer.concat([encodeRequest(query), Buffer.from(`\r\n${signedQuery()}`)]));
  const begun = await peer.read(9);
  await readBefore(server.ports.api);
  const answers = begun + (await (apiIsOld ? peer.read(peer.unread) : peer.readAll()));
  assert.equal(answers.match(/HTTP\/1\.1 200 /g)?.length, apiIsOld ? 1 : 2);
  peer.socket.destroy();
});
