/** Tests the recommended proxies in front of a whole server: signed requests arrive unchanged. Source: docs/proxy.md. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { connect, type Socket, createServer, type AddressInfo } from 'node:net';
import { connect as connectByTls } from 'node:tls';
import { after, test } from 'node:test';
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { SignalController } from '../../src/tools/simulator/signal-controller.ts';
import { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import { signRequest } from '../../src/protocol/tgv1/sign-request.ts';
import { ApiClient } from '../support/api-client.ts';
import { MediaPeer } from '../support/media-peer.ts';
import { PictureStream } from '../support/picture-stream.ts';
import { planarFrame } from '../support/coded-frames.ts';
import { lastFirst, temporaryDirectory, type Ending } from '../support/temporary-store.ts';
import { TestCertificate } from '../support/test-certificate.ts';
import { startTestServer, testCredentials } from '../support/test-server.ts';
import { developmentKey, placeWireCall, videoFormats, wireFrame } from '../support/wire-call.ts';
import { findFreePort } from '../support/free-port.ts';
import { toolPath, type DebianTool } from '../support/debian-tools.ts';
import { readFromRoot } from '../support/checkout.ts';

const host = '127.0.0.1';

interface NginxPorts {
  readonly api: number;
  readonly signal: number;
  readonly media: number;
  readonly sleep: number;
}

/** Starts nginx in front of a server at `behind`. Resolves to its ports when it accepts connections. */
async function startNginx(t: Ending, behind: NginxPorts, certificate: TestCertificate): Promise<NginxPorts> {
  const directory = temporaryDirectory(t);
  const [api, signal, media, sleep] = await Promise.all(
    ['api', 'signal', 'media', 'sleep'].map(() => findFreePort(host)),
  );
  const ports = { api, signal, media, sleep } as NginxPorts;
  const bodies = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${directory}/${kind};`,
  );
  const listens = (['api', 'signal', 'media'] as const).map(
    (name) =>
      [
        `listen 443 ssl;\n    server_name ${name}.example;`,
        `listen ${host}:${ports[name]} ssl;\n    server_name ${name}.example;`,
      ] as const,
  );
  const file = configure('nginx.conf', directory, [
    ['user www-data;', `user ${userInfo().username};`],
    ['pid /run/nginx.pid;', `pid ${directory}/nginx.pid;`],
    ['error_log /var/log/nginx/error.log;', 'error_log stderr notice;'],
    ['worker_processes auto;', 'worker_processes 1;'],
    ['worker_rlimit_nofile 65536;', ''],
    ['worker_connections 30000;', 'worker_connections 500;'],
    ['http {', `http {\n${bodies.join('\n')}`],
    ['/etc/reveille/tls.crt', certificate.certFile],
    ['/etc/reveille/tls.key', certificate.keyFile],
    ['server 127.0.0.1:8080;', `server ${host}:${behind.api};`],
    ['server 127.0.0.1:8082;', `server ${host}:${behind.signal};`],
    ['server 127.0.0.1:8083;', `server ${host}:${behind.media};`],
    ['proxy_pass 127.0.0.1:8081;', `proxy_pass ${host}:${behind.sleep};`],
    ['listen 8881;', `listen ${host}:${ports.sleep};`],
    ...listens,
  ]);
  await started(t, 'nginx', ['-c', file, '-g', 'daemon off;'], /start worker process \d/);
  return ports;
}

/** Starts HAProxy in front of a sleep port at `behind`. Resolves to its port. */
async function startHaproxy(t: Ending, behind: number): Promise<number> {
  const port = await findFreePort(host);
  const file = configure('haproxy.cfg', temporaryDirectory(t), [
    ['maxconn 100000', 'maxconn 100'],
    ['bind *:8881', `bind ${host}:${port}`],
    ['127.0.0.1:8081', `${host}:${behind}`],
  ]);
  await started(t, 'haproxy', ['-W', '-f', file], /Loading success/);
  return port;
}

/** Writes a changed copy of the recommended file and returns its path. */
function configure(
  name: string,
  directory: string,
  changes: readonly (readonly [from: string, to: string])[],
): string {
  let text = readFromRoot(`config/proxy/${name}`);
  for (const [from, to] of changes) {
    if (!text.includes(from)) throw new Error(`config/proxy/${name} has no "${from}" any more`);
    text = text.replaceAll(from, to);
  }
  const file = join(directory, name);
  writeFileSync(file, text);
  return file;
}

/** Starts a tool, ended with the test. Resolves when its output matches `ready`; rejects with the output when it exits before. */
async function started(t: Ending, tool: DebianTool, args: readonly string[], ready: RegExp): Promise<void> {
  const child = spawn(tool, args, {
    env: { ...process.env, PATH: toolPath },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = new Promise<void>((resolve) =>
    child.once('exit', () => resolve()).once('error', () => resolve()),
  );
  t.after(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  const said: string[] = [];
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stderr }).on('line', (line) => {
      said.push(line);
      if (ready.test(line)) resolve();
    });
    void ended.then(() => reject(new Error(`${tool} ended: ${said.join('\n')}`)));
  });
}

class WireTap {
  readonly port: number;
  readonly #chunks: Buffer[];

  private constructor(port: number, chunks: Buffer[]) {
    this.port = port;
    this.#chunks = chunks;
  }

  static async open(t: Ending, to: number): Promise<WireTap> {
    const chunks: Buffer[] = [];
    const sockets = new Set<Socket>();
    const server = createServer((caller) => {
      const callee = connect({ host: '127.0.0.1', port: to });
      for (const [socket, other] of [
        [caller, callee],
        [callee, caller],
      ] as const) {
        sockets.add(socket);
        socket.on('error', () => other.destroy()).on('close', () => other.destroy());
      }
      caller.on('data', (chunk: Buffer) => chunks.push(chunk));
      caller.pipe(callee).pipe(caller);
    });
    server.listen({ host: '127.0.0.1', port: 0 });
    await once(server, 'listening');
    t.after(() => {
      server.close();
      for (const socket of sockets) socket.destroy();
    });
    return new WireTap((server.address() as AddressInfo).port, chunks);
  }

  /** Bytes sent since the last call. */
  drain(): Buffer {
    return Buffer.concat(this.#chunks.splice(0));
  }
}

const certificate = new TestCertificate(temporaryDirectory({ after }));
certificate.use('nginx');
const ca = certificate.certificateOf('nginx');
const server = await startTestServer({
  media: 'child',
  overrides: ['sleep.behind_balancer=true', `media.bridge_keys=${developmentKey}`],
});
after(() => server.stop());
const tap = await WireTap.open({ after }, server.ports.api);
const nginx = await startNginx({ after }, { ...server.ports, api: tap.port }, certificate);
const api = new ApiClient(nginx.api, testCredentials.all, Date.now, { ca });
after(() => api.close());

/** Connects a module through nginx. */
function moduleByNginx(deviceId: string): Promise<SleepingModule> {
  return SleepingModule.connect(nginx.sleep, { deviceId, secret: `secret of ${deviceId}` });
}

/** The head of the request that has arrived at the server. */
function arrived(): string {
  return tap.drain().toString('latin1').split('\r\n\r\n')[0] ?? '';
}

test('a signed query is answered, with a connection that nginx keeps and the date of the server', async () => {
  tap.drain();
  for (const _ of [1, 2]) {
    const { status, json, headers } = await api.connectivity('TESTDEVICE01');
    assert.deepEqual([status, json.code], [200, 0]);
    assert.ok(headers['x-tg-request-id'] !== undefined && headers.date !== undefined);
  }
  assert.doesNotMatch(arrived(), /^connection: close/im);
});

test('requests that the parser of the API cannot read reach it whole through nginx, or nginx refuses them', async () => {
  const line = 'GET /nowhere HTTP/1.1\r\n';
  const rest = 'Host: 127.0.0.1\r\nConnection: close\r\n\r\n';
  for (let at = 1; at < line.length; at += 1)
    assert.equal(await statusOf(line.slice(0, at), line.slice(at) + rest), '404', line.slice(0, at));
  assert.equal(await statusOf(`GET https://127.0.0.1/nowhere HTTP/1.1\r\n${rest}`), '404');
  assert.equal(await statusOf(`\r\n${line}${rest}`), '404');
  assert.equal(await statusOf(`${line}A B: a\r\n${rest}`), '400');
  assert.equal(await statusOf(`${line}A: a\rb\r\n${rest}`), '400');
});

/** Sends a request to nginx in pieces, each read before the next is sent, and resolves to the status. */
async function statusOf(...pieces: readonly string[]): Promise<string | undefined> {
  const socket = connectByTls({ host: '127.0.0.1', port: nginx.api, ca });
  socket.setNoDelay();
  await once(socket, 'secureConnect');
  for (const piece of pieces) {
    socket.write(piece, 'latin1');
    // nginx has one worker, so an answer to a later request shows that it has read this piece.
    if (piece !== pieces.at(-1)) await api.connectivity('TESTDEVICE01');
  }
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  return /^HTTP\/1\.1 (\d+)/.exec(text)?.[1];
}

const targets: readonly (readonly [name: string, path: string, query: string])[] = [
  [
    'odd escapes and repeated separators',
    '/v1/device/connectivity',
    'x=%7e%2F%2f&&=&y&device_id=a%20b+c%2B&z=*~',
  ],
  ['a trailing slash', '/v1/device/connectivity/', 'device_id=TESTDEVICE01'],
];
for (const [name, path, query] of targets)
  test(`a target with ${name} arrives as it was signed`, async () => {
    tap.drain();
    const { json } = await api.call({ path, query });
    assert.equal(json.code, 0, JSON.stringify(json));
    assert.ok(arrived().startsWith(`GET ${path}?${query} HTTP/1.1\r\n`));
  });

test('nginx does not normalize slashes and escapes in a path, which would break the signature', async () => {
  tap.drain();
  const path = '/v1//device/./%63onnectivity/';
  const { status, json } = await api.call({ path, query: 'device_id=TESTDEVICE01' });
  assert.deepEqual([status, json.code], [404, 40400]);
  assert.ok(arrived().startsWith(`GET ${path}?`));
});

test('a module connected through nginx is woken through nginx, under the request id of the caller', async () => {
  const module = await moduleByNginx('SLEEPING01');
  const spoil = { 'X-Request-ID': 'ring-7' };
  const { status, json } = await api.wake({ device_id: 'SLEEPING01', custom_data: '0x12ab' }, { spoil });
  assert.deepEqual([status, json['request_id']], [202, 'ring-7']);
  await module.nextPacket();
  await module.close();
});

for (const headerSet of ['long', 'short'] as const)
  test(`a chunked body arrives with its length (${headerSet} header set)`, async () => {
    const path = '/v1/device/wakeup-request';
    const body = Buffer.from('{"device_id":"TESTDEVICE01"}');
    const credential = testCredentials.all;
    const signed = { credential, method: 'POST', path, rawQuery: '', body, headerSet, atMs: Date.now() };
    const { 'Content-Length': _, ...headers } = signRequest(signed);
    const options = { host: '127.0.0.1', port: nginx.api, method: 'POST', path, headers, ca };
    const sent = request({ ...options, headers: { ...headers, 'Transfer-Encoding': 'chunked' } });
    sent.flushHeaders();
    // This answer shows that nginx has read the head of the other request, which has a body of unknown length.
    await once(sent, 'socket');
    await api.connectivity('TESTDEVICE01');
    tap.drain();
    sent.end(body);
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    answer.resume();
    assert.equal(answer.statusCode, 404, 'authentic, and the device is not connected');
    const head = arrived();
    assert.match(head, /^content-length: 28$/im);
    assert.doesNotMatch(head, /^transfer-encoding/im);
  });

test("a body that is too large is refused with the API's error", async () => {
  const { status, json } = await api.wake({ device_id: 'x'.repeat(70_000) });
  assert.deepEqual([status, json.code], [413, 41300]);
});

test('a long poll lasts as long as requested', async () => {
  const { status, json } = await api.call({ path: '/v1/events', query: 'after=latest&wait=1' });
  assert.deepEqual([status, json.code], [200, 0]);
});

test('a controller logs in and receives a message through nginx', async () => {
  const controller = await SignalController.connect({
    url: `wss://127.0.0.1:${nginx.signal}`,
    deviceId: 'TESTDEVICE01',
    secret: 'secret of TESTDEVICE01',
    autoAcknowledge: true,
    tls: { ca },
  });
  const body = JSON.stringify({ device_id: 'TESTDEVICE01', name: 'ping', payload: {} });
  const { json } = await api.call({ method: 'POST', path: '/v1/device/message', body });
  assert.equal(json.code, 0);
  assert.deepEqual(await controller.bye('done'), { code: 1000, reason: 'bye' });
});

test('a device reads each picture at once, by WebSocket and by multipart', async (t) => {
  const { token, bridge } = await placeWireCall(t, server);
  const size = { width: 240, height: 320 };
  const picture = (timestamp: number): Buffer =>
    wireFrame({ format: videoFormats.i420, timestamp, ...size }, planarFrame(size).payload);
  const device = await MediaPeer.connect(nginx.media, { bearer: token, ca });
  bridge.send(picture(0));
  await device.framesCome(1);
  const stream = await PictureStream.open(nginx.media, { bearer: token, ca });
  assert.equal(await device.closed, '4409 replaced');
  for (const count of [1, 2]) {
    bridge.send(picture(1000 * count));
    await stream.picturesCome(count);
  }
  bridge.send('{"type":"state","state":"ended"}');
  await stream.closed;
  assert.equal(stream.isWhole, true);
});

test('behind HAProxy the sleep port knows each module by its own address', async (context) => {
  const t = lastFirst(context);
  const told = await startTestServer({
    overrides: [
      'sleep.proxy_protocol=true',
      'sleep.handshakes_per_address_max=1',
      'sleep.admission_wait_ms=100',
    ],
  });
  t.after(() => told.stop());
  const port = await startHaproxy(t, told.ports.sleep);
  const from = async (localAddress: string): Promise<Socket> => {
    const socket = connect({ host: '127.0.0.1', port, localAddress });
    t.after(() => void socket.destroy());
    await once(socket, 'connect');
    return socket;
  };
  const first = await from('127.0.0.2');
  await once(first, 'data');
  const second = await from('127.0.0.2');
  second.on('data', () => assert.fail('two of one address are greeted')).resume();
  await once(second, 'close');
  const options = { deviceId: 'SLEEPING01', secret: 'secret of SLEEPING01', localAddress: '127.0.0.3' };
  const module = await SleepingModule.connect(port, options);
  assert.equal((await told.api.wake({ device_id: 'SLEEPING01' })).status, 202);
  await module.nextPacket();
  await module.close();
});
