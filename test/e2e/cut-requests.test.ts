/**
 * Requests in several TCP segments, cut at every byte of request line, headers and body: each listener answers them like the whole
 * request. The parser of the API has one exception, `cutsRefusedByOldParser`.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { cutsRefusedByOldParser, hasOldParser, readBefore } from '../support/api-parser.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { encodeRequest } from '../support/raw-requests.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';

let server: TestServer;
let isOld: boolean;
before(async () => {
  server = await startTestServer();
  isOld = await hasOldParser(server.ports.api);
});
after(() => server.stop());

type Listener = 'api' | 'ops' | 'signal' | 'media';
interface CutRequest {
  readonly name: string;
  readonly listener: Listener;
  readonly text: () => string;
  /** Answer to the whole request. */
  readonly status: string;
}

const upgrade =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n' +
  'Sec-WebSocket-Protocol: reveille.signal.v1\r\n';
const host = 'Host: 127.0.0.1\r\n';

/** The listeners whose parser is that of the API. */
const listenersOfApiParser: ReadonlySet<Listener> = new Set(['api']);

const requests: readonly CutRequest[] = [
  {
    name: 'a signed GET',
    listener: 'api',
    text: () =>
      encodeRequest({
        credential: server.credentials.all,
        rawQuery: 'device_id=TESTDEVICE01',
      }).toString(),
    status: '200',
  },
  {
    name: 'a signed POST with a body',
    listener: 'api',
    text: () =>
      encodeRequest({
        credential: server.credentials.all,
        method: 'POST',
        path: '/v1/devices/connectivity',
        body: Buffer.from('{"device_ids":["TESTDEVICE01"]}'),
      }).toString(),
    status: '200',
  },
  {
    name: 'a GET with a token',
    listener: 'ops',
    text: () => `GET /v1/audit?limit=1 HTTP/1.1\r\n${host}Authorization: Bearer ${opsToken()}\r\n\r\n`,
    status: '200',
  },
  {
    name: 'a POST with a body that is refused',
    listener: 'ops',
    text: () =>
      `POST /v1/device/disable HTTP/1.1\r\n${host}Authorization: Bearer ${opsToken()}\r\n` +
      'Content-Type: application/json\r\nContent-Length: 7\r\n\r\n{"a":1}',
    status: '400',
  },
  {
    name: 'an upgrade',
    listener: 'signal',
    text: () => `GET /v1/signal HTTP/1.1\r\n${host}${upgrade}\r\n`,
    status: '101',
  },
  {
    name: 'an upgrade without a token',
    listener: 'media',
    text: () => `GET /media/v1/device HTTP/1.1\r\n${host}${upgrade}\r\n`,
    status: '401',
  },
  {
    name: 'a POST with a body and no token',
    listener: 'media',
    text: () =>
      `POST /media/v1/whip HTTP/1.1\r\n${host}Content-Type: application/sdp\r\nContent-Length: 3\r\n\r\nv=0`,
    status: '401',
  },
];

function opsToken(): string {
  return readFileSync(join(server.dataDirectory, 'ops.token'), 'utf8').trim();
}

/** Concurrent connections, few enough for every limit per address. */
const cutsAtOnce = 16;

function statusWhen({ listener, status }: CutRequest, isRefused: boolean): string {
  return isOld && isRefused && listenersOfApiParser.has(listener) ? cutsRefusedByOldParser.status : status;
}

for (const request of requests) {
  const title = `${request.name} to ${request.listener}`;

  test(`${title} is answered alike when cut in two at any byte`, async () => {
    const port = server.ports[request.listener];
    const text = request.text();
    const cuts = Array.from({ length: text.length - 1 }, (_, at) => at + 1);
    const statuses: string[] = [];
    for (let from = 0; from < cuts.length; from += cutsAtOnce)
      statuses.push(...(await statusesOf(port, text, cuts.slice(from, from + cutsAtOnce))));
    assert.ok(statuses.length > 100);
    const answered = cuts.map((at, i) => ({
      begin: text.slice(0, at),
      status: statuses[i],
      expected: statusWhen(request, cutsRefusedByOldParser.includes(text, at)),
    }));
    assert.deepEqual(
      answered.filter(({ status, expected }) => status !== expected),
      [],
    );
  });

  test(`${title} is answered alike when its head arrives byte by byte`, async () => {
    const port = server.ports[request.listener];
    const text = request.text();
    const head = text.indexOf('\r\n\r\n') + 4;
    const peer = await RawPeer.connect(port);
    for (let at = 0; at < head && peer.unread === 0; at += 1) {
      peer.send(text.slice(at, at + 1));
      await readBefore(port);
    }
    if (peer.unread === 0) peer.send(text.slice(head));
    assert.equal((await peer.read(12)).slice(9), statusWhen(request, true));
    peer.socket.destroy();
  });
}

async function statusesOf(port: number, text: string, cuts: readonly number[]): Promise<string[]> {
  const peers = await Promise.all(cuts.map((_, i) => RawPeer.connect(port, `127.0.6.${1 + (i % 200)}`)));
  peers.forEach((peer, i) => peer.send(text.slice(0, cuts[i])));
  await readBefore(port);
  peers.forEach((peer, i) => peer.send(text.slice(cuts[i])));
  const statuses = await Promise.all(peers.map(async (peer) => (await peer.read(12)).slice(9)));
  for (const { socket } of peers) socket.destroy();
  return statuses;
}

test('the exception of the old parser is eleven cuts of a request line', () => {
  const text = 'GET /a HTTP/1.1\r\nHost: a\r\n\r\n';
  const cuts = Array.from({ length: text.length - 1 }, (_, at) => at + 1);
  assert.deepEqual(
    cuts.filter((at) => cutsRefusedByOldParser.includes(text, at)),
    [4, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16],
  );
});
