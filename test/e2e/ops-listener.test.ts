/** The ops listener over real sockets: authorization, request bodies, answers, and disconnects. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { unexplainedFault } from '../../src/storage/lmdb/store-fault.ts';
import { SystemClock } from '../../src/lib/system-clock.ts';
import type {
  AdminRequest,
  AdminRoute,
  AuditTerms,
  UploadRoute,
} from '../../src/gateways/ops/admin-route.ts';
import { OpsListener, type PageRoutes } from '../../src/gateways/ops/ops-listener.ts';
import { RefusedCredentials } from '../../src/gateways/ops/refused-credentials.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { Operators } from '../../src/gateways/ops/operators.ts';
import { Readiness } from '../../src/telemetry/readiness.ts';
import { OpsTokenFile } from '../../src/storage/keys/ops-token-file.ts';
import { LoopProgress } from '../../src/lib/loop-progress.ts';
import { openAudit } from '../support/audit-scene.ts';
import { FakeLog, FakeTelemetry } from '../support/fakes.ts';
import { metricSources } from '../support/metric-sources.ts';

const root = mkdtempSync(join(tmpdir(), 'ops-listener-'));
const spoolDirectory = join(root, 'spool');
const readiness = new Readiness();
const log = new FakeLog();
const asked: AdminRequest[] = [];
const uploaded: { query: string; bytes: number; mode: number; text: string }[] = [];
/** Emits `ended` when an aborted upload is over. */
const endlessUpload = new EventEmitter();
/** Emits `asked` with the name of the operator, and `gone` when the client of `/v1/wait` has disconnected. */
const waiting = new EventEmitter();
/** Ends the wait of `/v1/long`. */
let endLong: () => void = () => undefined;
const long = new Promise<void>((resolve) => (endLong = resolve));
let port = 0;

const audit: AuditTerms = { action: 'registry.import' };

/** Requests whose end no test awaits. */
function asUpload(
  lines: (request: Pick<AdminRequest, 'query'>, file: string) => AsyncGenerator,
): UploadRoute['upload'] {
  const ended = Promise.resolve({ done: true });
  return (request, file) => ({ lines: lines(request, file), ended });
}

const routes: (AdminRoute | UploadRoute)[] = [
  {
    method: 'POST',
    path: '/v1/echo',
    audit,
    handle(request) {
      asked.push(request);
      return Promise.resolve({ got: request.body ?? null });
    },
  },
  {
    method: 'GET',
    path: '/v1/echo',
    handle: ({ query }) => Promise.resolve([...query]),
  },
  { method: 'GET', path: '/v1/broken', handle: () => Promise.reject(new Error('planted')) },
  { method: 'GET', path: '/v1/long', handle: () => long.then(() => ({})) },
  {
    method: 'GET',
    path: '/v1/wait',
    async handle({ operator, gone }) {
      waiting.emit('asked', operator);
      await once(gone, 'abort');
      waiting.emit('gone');
      return {};
    },
  },
  { method: 'POST', path: '/v1/import', audit, upload: asUpload(recordUpload) },
  { method: 'POST', path: '/v1/many', audit, upload: asUpload(manyLines) },
  { method: 'POST', path: '/v1/none', audit, upload: asUpload(noLines) },
  { method: 'POST', path: '/v1/late-fault', audit, upload: asUpload(lateFault) },
  { method: 'POST', path: '/v1/endless', audit, upload: asUpload(endless) },
];

const pages: PageRoutes = {
  async register(app) {
    const config = { access: 'page' } as const;
    app.get('/page', { config }, (_request, reply) => reply.type('text/html').send('<p>page'));
    app.get('/page/broken', { config }, () => Promise.reject(new Error('planted')));
  },
};

async function* recordUpload({ query }: Pick<AdminRequest, 'query'>, file: string): AsyncGenerator {
  yield { progress: 1 };
  const text = await readFile(file, 'latin1');
  uploaded.push({ query: query.toString(), bytes: text.length, mode: statSync(file).mode & 0o777, text });
}

const manyCount = 20_000;
const padding = 'x'.repeat(500);

async function* manyLines(): AsyncGenerator {
  for (let number = 0; number < manyCount; number++) yield { number, padding };
}

async function* noLines(): AsyncGenerator {}

async function* lateFault(): AsyncGenerator {
  yield { progress: 1 };
  throw new Error('planted late');
}

async function* endless(): AsyncGenerator {
  try {
    for (;;) yield { padding };
  } finally {
    endlessUpload.emit('ended');
  }
}

const clock = new SystemClock();
const { audit: auditLog } = openAudit(root, clock);
const operators = new Operators({ file: new OpsTokenFile(root), localToken: 'the-token', clock, log });

const refusals = new RefusedCredentials({ clock, log, telemetry: new FakeTelemetry() });

const metrics = createMetrics(metricSources({ sleepSessions: () => 3 }));
/** Gate that blocks a read of the metrics. */
let metricsGate = Promise.resolve();
let metricsRead = 0;

const listener = new OpsListener(
  {
    metrics: {
      contentType: metrics.contentType,
      async expose() {
        metricsRead += 1;
        await metricsGate;
        return metrics.expose();
      },
    },
    readiness,
    progress: new LoopProgress(clock),
    routes,
    pages: [pages],
    operators,
    refusals,
    sessions: null,
    audit: auditLog,
    log,
    clock,
    connectionsMax: () => 1000,
  },
  { host: '127.0.0.1', port: 0, hosts: ['ops.example'], perAddressMax: 0, spoolDirectory },
);

before(async () => {
  mkdirSync(spoolDirectory);
  writeFileSync(join(spoolDirectory, 'left-by-a-killed-process'), '');
  port = await listener.listen();
});
after(() => {
  listener.close();
  rmSync(root, { recursive: true });
});

interface Ask {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  readonly chunked?: boolean;
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

const authorization = 'Bearer the-token';
const json = { authorization, 'content-type': 'application/json' };
const ndjson = { authorization, 'content-type': 'application/x-ndjson' };

/** One request on a new connection. */
function ask(
  path: string,
  { method = 'GET', headers = {}, body, chunked = false }: Ask = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const length = body === undefined || chunked ? {} : { 'content-length': Buffer.byteLength(body) };
    const request = httpRequest({ port, path, method, headers: { ...length, ...headers }, agent: false });
    request.on('error', reject);
    request.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(chunks).toString('latin1'),
        }),
      );
    });
    request.end(body);
  });
}

function linesOf({ text }: Answer): unknown[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line): unknown => JSON.parse(line));
}

test('probes and metrics are open to every client, under any host name', async () => {
  const headers = { host: '10.1.2.3:9999' };
  assert.equal((await ask('/livez', { headers })).status, 200);
  const metrics = await ask('/metrics', { headers });
  assert.equal(metrics.status, 200);
  assert.match(metrics.headers['content-type'] ?? '', /^text\/plain; version=0\.0\.4/);
  assert.match(metrics.text, /^reveille_sleep_sessions 3$/m);
  assert.equal((await ask('/livez', { method: 'POST' })).status, 405);
});

test('readiness is 503 with its reasons, 200 without', async () => {
  const starting = await ask('/readyz');
  assert.equal(starting.status, 503);
  assert.deepEqual(JSON.parse(starting.text), { ready: false, reasons: ['starting'] });
  readiness.clear('starting');
  const ready = await ask('/readyz');
  assert.equal(ready.status, 200);
  assert.deepEqual(JSON.parse(ready.text), { ready: true, reasons: [] });
});

test('administration requires a known host, the own origin and the token, in this order, also for unknown paths', async () => {
  const statusWith = async (headers: Record<string, string>, path = '/v1/echo'): Promise<number> =>
    (await ask(path, { headers })).status;
  assert.equal(await statusWith({ authorization }), 200);
  assert.equal(await statusWith({ authorization, host: 'ops.example' }), 200);
  assert.equal(await statusWith({ authorization, host: 'evil.example' }), 403);
  assert.equal(await statusWith({ authorization, origin: 'http://evil.example' }), 403);
  assert.equal(await statusWith({ authorization, origin: `http://localhost:${port}` }), 200);
  assert.equal(await statusWith({}), 401);
  assert.equal(await statusWith({ authorization: 'Bearer other' }), 401);
  assert.equal(await statusWith({}, '/v1/nowhere'), 401);
  assert.equal(await statusWith({ authorization }, '/v1/nowhere'), 404);
  assert.equal((await ask('/v1/echo')).headers['www-authenticate'], 'Bearer');
});

test('a route receives the query and the parsed body, and its value is the answer', async () => {
  const answer = await ask('/v1/echo?replace=true&name=a+b', {
    method: 'POST',
    headers: json,
    body: '{"x":[1,"é"]}',
  });
  assert.equal(answer.status, 200);
  assert.equal(answer.text, Buffer.from('{"got":{"x":[1,"é"]}}').toString('latin1'));
  const { query, body } = asked.at(-1) ?? assert.fail('not asked');
  assert.deepEqual(
    [...query],
    [
      ['replace', 'true'],
      ['name', 'a b'],
    ],
  );
  assert.deepEqual(body, { x: [1, 'é'] });
  assert.equal((await ask('/v1/echo', { method: 'POST', headers: { authorization } })).text, '{"got":null}');
});

test('a page needs no token, but a known host and the own origin', async () => {
  const answer = await ask('/page');
  assert.deepEqual([answer.status, answer.text], [200, '<p>page']);
  assert.equal(answer.headers['content-type'], 'text/html');
  assert.equal(answer.headers['cache-control'], 'no-store');
  assert.equal((await ask('/page', { headers: { host: 'evil.example' } })).status, 403);
  assert.equal((await ask('/page', { headers: { origin: 'http://evil.example' } })).status, 403);
});

test('the answer of a page does not reveal why its route failed', async () => {
  const broken = await ask('/page/broken');
  assert.deepEqual([broken.status, JSON.parse(broken.text)], [500, { error: unexplainedFault }]);
  assert.ok(log.lines.some(({ fields }) => 'path' in fields && fields.path === '/page/broken'));
});

test('a body of another type is 415, invalid JSON is 400, and neither reaches the route', async () => {
  const before = asked.length;
  const text = { authorization, 'content-type': 'text/plain' };
  assert.equal((await ask('/v1/echo', { method: 'POST', headers: text, body: '{}' })).status, 415);
  assert.equal((await ask('/v1/echo', { method: 'POST', headers: json, body: '{' })).status, 400);
  assert.equal((await ask('/v1/import', { method: 'POST', headers: text, body: '{}' })).status, 415);
  assert.equal(asked.length, before);
});

test('a body beyond the limit is 413, with and without a length', async () => {
  const body = ' '.repeat(256 * 1024 + 1);
  for (const chunked of [false, true])
    assert.equal(
      (await ask('/v1/echo', { method: 'POST', headers: json, body, chunked })).status,
      413,
      `${chunked}`,
    );
  const within = await ask('/v1/echo', { method: 'POST', headers: json, body: `{}${body.slice(3)}` });
  assert.equal(within.status, 200);
});

test('a route that fails answers 500 without the reason, which is logged', async () => {
  const answer = await ask('/v1/broken', { headers: { authorization } });
  assert.equal(answer.status, 500);
  assert.doesNotMatch(answer.text, /planted/);
  assert.ok(log.lines.some(({ level, fields }) => level === 'error' && 'err' in fields && 'path' in fields));
});

test('an upload of any size is spooled, used and removed', async () => {
  for (const [bytes, chunked] of [
    [0, false],
    [1, false],
    [1, true],
    [40_000_000, false],
    [9_000_001, true],
  ] as const) {
    const body = Buffer.alloc(bytes, 'ab\n');
    const answer = await ask('/v1/import?replace=true', { method: 'POST', headers: ndjson, body, chunked });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers['content-type'], 'application/x-ndjson');
    assert.deepEqual(linesOf(answer), [{ progress: 1 }, { done: true }]);
    const upload = uploaded.at(-1) ?? assert.fail('not uploaded');
    assert.deepEqual([upload.query, upload.bytes, upload.mode], ['replace=true', bytes, 0o600]);
    assert.ok(upload.text === body.toString('latin1'));
  }
  assert.deepEqual(readdirSync(spoolDirectory), []);
});

test('a slow reader receives every line of a long answer in order', async () => {
  const answer = await ask('/v1/many', { method: 'POST', headers: ndjson, body: '' });
  const lines = linesOf(answer);
  assert.deepEqual(lines.pop(), { done: true });
  const numbers = lines.map((line) =>
    typeof line === 'object' && line !== null && 'number' in line ? line.number : -1,
  );
  assert.deepEqual(numbers, [...Array(manyCount).keys()]);
});

test('an upload without progress answers its result, one that fails late ends with an error line', async () => {
  assert.equal(
    (await ask('/v1/none', { method: 'POST', headers: ndjson, body: 'x' })).text,
    '{"done":true}\n',
  );
  const late = await ask('/v1/late-fault', { method: 'POST', headers: ndjson, body: 'x' });
  assert.deepEqual(linesOf(late), [{ progress: 1 }, { error: unexplainedFault }]);
});

/** A raw connection that has sent the head of an upload. */
async function beginUpload(path: string, bytes: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const head = [`POST ${path} HTTP/1.1`, 'Host: localhost', `Authorization: ${authorization}`];
  socket.write(
    [...head, 'Content-Type: application/x-ndjson', `Content-Length: ${bytes}`, '', ''].join('\r\n'),
  );
  return socket;
}

test('a disconnect during a long answer ends its work', async () => {
  const socket = await beginUpload('/v1/endless', 0);
  await once(socket, 'data');
  const ended = once(endlessUpload, 'ended');
  socket.destroy();
  await ended;
});

test('a long poll knows its operator, and notices a disconnect', async () => {
  const [asked, gone] = [once(waiting, 'asked'), once(waiting, 'gone')];
  const socket = connect(port, '127.0.0.1');
  socket.write('GET /v1/wait HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer the-token\r\n\r\n');
  assert.deepEqual(await asked, ['local']);
  socket.destroy();
  await gone;
});

test('a disconnect during an upload leaves no file, and the next one is served', async () => {
  const before = uploaded.length;
  for (let round = 0; round < 4; round++) {
    const socket = await beginUpload('/v1/import', 1_000_000);
    socket.end(Buffer.alloc(500_000));
    socket.resume();
    await once(socket, 'close');
  }
  // The server runs in this event loop: each probe gives it some turns to notice the disconnect.
  while (readdirSync(spoolDirectory).length > 0) await ask('/livez');
  const answer = await ask('/v1/import', { method: 'POST', headers: ndjson, body: 'x' });
  assert.equal(answer.status, 200);
  assert.equal(uploaded.length, before + 1);
});

test('an upload with a length beyond the limit is refused before it is sent', async () => {
  const socket = await beginUpload('/v1/import', 3 * 1024 ** 3);
  const [chunk]: unknown[] = await once(socket, 'data');
  assert.match(String(chunk), /^HTTP\/1\.1 413 /);
  socket.destroy();
});

test('one read of the metrics answers all concurrent scrapes', async () => {
  let open: () => void = () => undefined;
  metricsGate = new Promise((resolve) => (open = resolve));
  metricsRead = 0;
  const asked = connect(port, '127.0.0.1');
  asked.write('GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(3));
  await ask('/livez');
  open();
  let text = '';
  while (text.split('HTTP/1.1 200').length < 4) text += String((await once(asked, 'data'))[0]);
  asked.destroy();
  assert.equal(metricsRead, 1);
});

test('a peer that stalls in its upload, or does not read, is closed, but a working route is not', async (t) => {
  const { server } = listener.connections;
  const before = server.timeout;
  server.timeout = 200;
  t.after(() => (server.timeout = before));
  const worked = ask('/v1/long', { headers: { authorization } });
  const ended = once(endlessUpload, 'ended');
  const unread = await beginUpload('/v1/endless', 0);
  const stopped = await beginUpload('/v1/import', 1000);
  stopped.on('error', () => undefined).resume();
  await once(stopped, 'close');
  await ended;
  unread.destroy();
  endLong();
  assert.equal((await worked).status, 200);
});

test('while the server drains, answers end their connections', async () => {
  const kept = await ask('/livez', { headers: { connection: 'keep-alive' } });
  assert.notEqual(kept.headers.connection, 'close');
  readiness.set('draining');
  const answer = await ask('/readyz', { headers: { connection: 'keep-alive' } });
  assert.equal(answer.headers.connection, 'close');
  assert.deepEqual(JSON.parse(answer.text), { ready: false, reasons: ['draining'] });
  readiness.clear('draining');
});

test('a second listener on the same port is refused', async () => {
  const deps = {
    metrics: createMetrics(metricSources()),
    readiness,
    progress: new LoopProgress(clock),
    routes: [],
    pages: [],
    operators,
    refusals,
    sessions: null,
    audit: auditLog,
    log,
    clock,
    connectionsMax: () => 1000,
  };
  const spool = join(root, 'other-spool');
  const settings = { host: '127.0.0.1', port, hosts: [], perAddressMax: 0, spoolDirectory: spool };
  await assert.rejects(new OpsListener(deps, settings).listen(), /cannot listen on 127\.0\.0\.1/);
  assert.ok(existsSync(spool));
});
