/**
 * Headers filled to the limit with ambiguous text. The CPU time of such requests is compared with that of plain ones, while a backend of
 * another application and a sleeping module are watched.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';

/** Size limit of a head at api, ops and signal, and at media. */
const fillCharacters = 3500;
const mediaFillCharacters = 14_000;
const requestsOfKind = 40;
const requestsAtOnce = 10;
/** A backtracking expression takes twenty times as long as a plain request. */
const cpuFactorMax = 5;
/** CPU time of garbage collection and timers, unrelated to the requests. */
const cpuMsOfOthers = 150;

let server: TestServer;
let module: SleepingModule;
let isAsleep = true;
before(async () => {
  server = await startTestServer();
  module = await server.module('SLEEPING01');
  void module.closed.then(() => (isAsleep = false));
});
after(() => server.stop());

type Target = 'api' | 'ops' | 'console' | 'signal' | 'media';
type Headers = Readonly<Record<string, string>>;

const upgrade = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
};
const json = { 'Content-Type': 'application/json', 'Content-Length': '2' };
const sdp = { 'Content-Type': 'application/sdp', 'Content-Length': '2', Authorization: 'Bearer a.b.c' };

const requests: Readonly<Record<Target, { line: string; headers: Headers }>> = {
  api: { line: 'POST /v1/device/wakeup-request', headers: json },
  ops: { line: 'POST /v1/devices', headers: json },
  console: { line: 'POST /console/login', headers: json },
  signal: { line: 'GET /v1/signal', headers: upgrade },
  media: { line: 'POST /media/v1/whip', headers: sdp },
};

function portOf(target: Target): number {
  return server.ports[target === 'console' ? 'ops' : target];
}

/** Resolves when its connection has ended, answered or not. */
async function send(target: Target, from: string, changed: Headers): Promise<void> {
  const port = portOf(target);
  const { line, headers } = requests[target];
  const all = { Host: `127.0.0.1:${port}`, ...headers, ...changed };
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const peer = await RawPeer.connect(port, from);
  peer.send(`${line} HTTP/1.1\r\n${head.join('')}\r\n${'Content-Length' in all ? '{}' : ''}`);
  const answer = await peer.read(12);
  peer.socket.destroy();
  assert.match(answer, /^HTTP\/1\.1 4/, `${target}: ${JSON.stringify(changed).slice(0, 100)}`);
}

/** Warm-up: the first requests pay for compilation and caches. */
async function cpuMsOf(send: (from: string) => Promise<unknown>): Promise<number> {
  await send('127.0.0.1');
  const begun = process.cpuUsage();
  for (let sent = 0; sent < requestsOfKind; sent += requestsAtOnce)
    await Promise.all(Array.from({ length: requestsAtOnce }, (_, i) => send(`127.0.5.${1 + i}`)));
  const { user, system } = process.cpuUsage(begun);
  return (user + system) / 1000;
}

/** Queries of one application during requests of others. */
async function whileOthersAsk(work: () => Promise<void>): Promise<void> {
  const state = { isOver: false };
  const asked = (async () => {
    let answers = 0;
    for (; !state.isOver || answers === 0; answers += 1)
      assert.equal((await server.api.connectivity('SLEEPING01')).json.code, 0);
  })();
  await work().finally(() => (state.isOver = true));
  await asked;
  module.heartbeat();
  assert.ok(isAsleep, 'the module keeps its session');
}

/** `kind`: for the message. */
async function assertCheap(
  kind: string,
  plain: () => Promise<number>,
  hostile: () => Promise<number>,
): Promise<void> {
  const [plainMs, hostileMs] = [await plain(), await hostile()];
  assert.ok(
    hostileMs <= cpuFactorMax * plainMs + cpuMsOfOthers,
    `${kind}: ${requestsOfKind} requests take ${hostileMs} ms of CPU time, plain ones ${plainMs}`,
  );
}

const contentTypes = ['application/json;charset=utf-8', 'application/json', 'application/sdp;x="', ''];
const others: readonly [name: string, begin: string][] = [
  ['Authorization', 'Bearer'],
  ['Authorization', 'TGV1-HMAC-SHA256 Credential=a/20261127/tgv1_request, SignedHeaders='],
  ['Host', '127.0.0.1'],
  ['Origin', 'http://a'],
  ['Cookie', 'reveille_console'],
  ['Accept', 'a'],
  ['If-Match', '"a'],
  ['X-Request-Id', 'a'],
  ['Sec-WebSocket-Protocol', 'a'],
  ['Sec-WebSocket-Extensions', 'permessage-deflate'],
  ['Forwarded', 'for=a'],
];
const kinds = [...contentTypes.map((begin): [string, string] => ['Content-Type', begin]), ...others];

for (const target of ['api', 'ops', 'console', 'signal', 'media'] as const)
  test(`no header costs the ${target} listener more than a plain request, and others are not affected`, async () => {
    const characters = target === 'media' ? mediaFillCharacters : fillCharacters;
    await whileOthersAsk(async () => {
      const plain = await cpuMsOf((from) => send(target, from, {}));
      for (const [name, begin] of kinds)
        for (const fill of [' ', '; ', ',']) {
          const value = `${begin}${fill.repeat(characters / fill.length)}x`;
          const hostile = (): Promise<number> => cpuMsOf((from) => send(target, from, { [name]: value }));
          await assertCheap(`${name}: ${begin}, then ${JSON.stringify(fill)}`, async () => plain, hostile);
        }
    });
  });

test('a signed request whose Content-Type is full of spaces costs no more than a plain one', async () => {
  const ask = (contentType: string): Promise<number> =>
    cpuMsOf(async () => {
      const { other: credential } = server.credentials;
      const { status } = await server.api.wake({}, { contentType, credential });
      assert.equal(status, 415);
    });
  await whileOthersAsk(async () => {
    for (const begin of contentTypes)
      await assertCheap(
        `Content-Type: ${begin}`,
        () => ask('text/plain'),
        () => ask(`${begin}${' '.repeat(3000)}x`),
      );
  });
});
