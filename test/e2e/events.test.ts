/** Reading the log over real sockets, while devices come and go. */
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { Authenticator } from '../../src/gateways/api/authenticator.ts';
import type { ApiServices } from '../../src/gateways/api/api-services.ts';
import { apiRoutes } from '../../src/gateways/api/routes.ts';
import { ListeningApps } from '../../src/lib/uws.ts';
import { RequestLog } from '../../src/core/requests/request-log.ts';
import { Pipeline } from '../../src/gateways/api/pipeline.ts';
import { EventWaiters } from '../../src/core/events/event-waiters.ts';
import { scanQueueShape, type ReadEventsDeps } from '../../src/core/events/read-events.ts';
import { FairQueue } from '../../src/lib/fair-queue.ts';
import { WaitingReaders, type ReaderSlot } from '../../src/core/events/waiting-readers.ts';
import { SigningKeyCache } from '../../src/protocol/tgv1/signature.ts';
import { signRequest } from '../../src/protocol/tgv1/sign-request.ts';
import { inlineVerifier } from '../../src/gateways/verification/hmac-pool.ts';
import { anyConnections } from '../support/fake-http.ts';
import type { ApiAnswer, ApiCall } from '../support/api-client.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import { FakeLog, FakeRegistry, FakeTelemetry } from '../support/fakes.ts';
import { ScriptedEventLog } from '../support/scripted-event-log.ts';
import { demoCredential } from '../support/signed-requests.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';

interface EventJson {
  readonly type: string;
  readonly device_id: string;
  readonly seq: number;
  readonly epoch: number | null;
  readonly data: Record<string, unknown>;
}

interface PageJson {
  readonly events: readonly EventJson[];
  readonly next: string;
  readonly truncated: boolean;
}

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

function read(query: string, call: ApiCall = {}, from = server): Promise<ApiAnswer> {
  return from.api.call({ path: '/v1/events', query, ...call });
}

async function page(query: string, call: ApiCall = {}, from = server): Promise<PageJson> {
  const { status, json, text } = await read(query, call, from);
  assert.deepEqual([status, json.code], [200, 0], text);
  return json.data as unknown as PageJson;
}

/** The device's events from the cursor on, waiting until there are so many. */
async function eventsOf(device: string, cursor: string, count: number): Promise<readonly EventJson[]> {
  const events: EventJson[] = [];
  for (let after = cursor; events.length < count;) {
    const { events: more, next } = await page(`after=${after}&wait=30`);
    events.push(...more.filter(({ device_id }) => device_id === device));
    after = next;
  }
  return events;
}

const stamp = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$/;

test('a waiting reader is told of a controller that comes online, with all that belongs to it', async () => {
  const { next } = await page('after=latest');
  const answer = page(`after=${next}&wait=30`);
  const controller = await server.controller('TESTDEVICE01', { media: { codecs: ['h264'] } });
  const { events, truncated } = await answer;
  assert.deepEqual([events.length, truncated], [1, false]);
  const [event] = events;
  assert.ok(event !== undefined);
  assert.deepEqual(Object.keys(event), ['id', 'type', 'at', 'device_id', 'seq', 'epoch', 'data']);
  const { id, at, data, ...rest } = event as EventJson & { id: string; at: string };
  assert.match(id, /^[0-9a-f-]{36}$/);
  assert.match(at, stamp);
  assert.deepEqual(rest, { type: 'device.signal.online', device_id: 'TESTDEVICE01', seq: 1, epoch: 1 });
  assert.deepEqual(Object.keys(data), ['session', 'node', 'replaced', 'media']);
  assert.deepEqual([data['replaced'], data['media']], [false, { codecs: ['h264'] }]);
  await controller.bye('asleep');
});

test('what one device does is told in its order, each with the next number', async () => {
  const { next } = await page('after=latest');
  const module = await server.module('SLEEPING01');
  await module.close();
  const again = await server.module('SLEEPING01');
  const own = await eventsOf('SLEEPING01', next, 3);
  assert.deepEqual(
    own.map(({ type, seq, epoch }) => [type, seq, epoch]),
    [
      ['device.sleep.login', 1, 1],
      ['device.sleep.offline', 2, 1],
      ['device.sleep.login', 3, 2],
    ],
  );
  await again.close();
});

test("an application is told of its own products' devices only", async () => {
  const other = { credential: server.credentials.other };
  const { next } = await page('after=latest', other);
  const answer = page(`after=${next}&wait=30`, other);
  const [mine, theirs] = [await server.module('SLEEPING02'), await server.module('FOREIGN01')];
  assert.deepEqual(
    (await answer).events.map(({ device_id }) => device_id),
    ['FOREIGN01'],
  );
  const seen = await page('limit=1000');
  assert.ok(seen.events.length > 0);
  assert.ok(seen.events.every(({ device_id }) => device_id !== 'FOREIGN01'));
  await mine.close();
  await theirs.close();
});

test('pages of one join to what a page of all says', async () => {
  const whole = await page('limit=1000');
  assert.ok(whole.events.length > 3);
  const joined: EventJson[] = [];
  let next = '';
  for (let pages = 0; pages <= whole.events.length; pages++) {
    const one = await page(`limit=1${next === '' ? '' : `&after=${next}`}`);
    joined.push(...one.events);
    next = one.next;
  }
  assert.deepEqual(joined.slice(0, whole.events.length), whole.events);
});

test('two readers of the same page get the same text', async () => {
  const [first, second] = await Promise.all([read('limit=3'), read('limit=3')]);
  assert.equal(first.text, second.text);
});

const refusals: { query: string; code: number; call?: () => ApiCall }[] = [
  { query: 'after=', code: 40003 },
  { query: 'after=17', code: 40003 },
  { query: 'limit=0', code: 40003 },
  { query: 'limit=1001', code: 40003 },
  { query: 'wait=30.001', code: 40003 },
  { query: 'wait=1&wait=1', code: 40003 },
  { query: 'limit=1', code: 40301, call: () => ({ credential: server.credentials.reader }) },
];
for (const { query, code, call } of refusals) {
  test(`reading with ${query} is ${code}, with HTTP 200`, async () => {
    const { status, json, text } = await read(query, call?.());
    assert.deepEqual([status, json.code], [200, code], text);
    assert.deepEqual(Object.keys(json), ['code', 'message']);
  });
}

test('a cursor holds across a restart: nothing is lost, invented or repeated', async () => {
  const first = await startTestServer();
  const module = await first.module('SLEEPING01');
  const { next, events } = await page('wait=30', {}, first);
  assert.deepEqual(
    events.map(({ type }) => type),
    ['device.sleep.login'],
  );
  await first.halt();
  const second = await startTestServer({ dataDirectory: first.dataDirectory });
  const later = await page(`after=${next}`, {}, second);
  assert.deepEqual(
    later.events.map(({ type, seq, data }) => [type, seq, data['reason']]),
    [['device.sleep.offline', 2, 'drain']],
  );
  assert.equal(later.truncated, false);
  await module.close();
  await second.stop();
});

test('a drain answers a waiting reader with what there is', async () => {
  const stopping = await startTestServer();
  const { next } = await page('', {}, stopping);
  const answer = read(`after=${next}&wait=30`, {}, stopping);
  // Asked later on another connection: by its answer the first one is waiting.
  await page('', {}, stopping);
  const stopped = stopping.server.stop();
  const { status, json, headers } = await answer;
  assert.deepEqual([status, json.code, json.data?.['events']], [200, 0, []]);
  assert.equal(headers.connection, 'close');
  await stopped;
  stopping.api.close();
  await rm(stopping.dataDirectory, { recursive: true, force: true });
});

/** Tells when a reader has come and when it has gone. */
class WatchedReaders extends WaitingReaders {
  readonly entered: Promise<void>;
  readonly left: Promise<void>;
  #enter: () => void = () => undefined;
  #leave: () => void = () => undefined;

  constructor(clock: DrivenClock) {
    super(clock, { max: 1, perApplicationMax: 1 });
    this.entered = new Promise((resolve) => (this.#enter = resolve));
    this.left = new Promise((resolve) => (this.#leave = resolve));
  }

  override enter(appId: Parameters<WaitingReaders['enter']>[0]): ReaderSlot | null {
    const slot = super.enter(appId);
    if (slot === null) return null;
    this.#enter();
    const leave = (): void => {
      slot.leave();
      this.#leave();
    };
    return { wait: (ms) => slot.wait(ms), wake: () => slot.wake(), leave };
  }
}

test('a caller that hangs up frees its slot, though nothing happens and no time passes', async () => {
  const clock = new DrivenClock();
  const registry = new FakeRegistry();
  registry.credentials.set(demoCredential.accessKeyId, demoCredential);
  const events = new ScriptedEventLog();
  const log = new FakeLog();
  const readers = new WatchedReaders(clock);
  const waiters = new EventWaiters({ events, registry, log });
  const queue = new FairQueue(scanQueueShape);
  const reading: ReadEventsDeps = { clock, registry, events, log, readers, waiters, queue, cluster: null };
  const authenticator = new Authenticator(
    { clock, registry, log, signingKeys: new SigningKeyCache(10), verifier: inlineVerifier },
    { windowMs: 300_000, explainMismatch: false },
  );
  const connections = anyConnections();
  const pipeline = new Pipeline({
    clock,
    log,
    authenticator,
    telemetry: new FakeTelemetry(),
    routes: apiRoutes,
    services: { events: reading, limits: { eventReads: null } } as ApiServices,
    requestLog: new RequestLog('off', clock, log),
    connections,
    isDraining: () => false,
  });
  const listener = new ListeningApps({ host: '127.0.0.1', port: 0, tls: null, sharesPort: false }, (app) => {
    connections.watch(app).any('/*', pipeline.handle);
  });
  await listener.listen();
  const caller = connect(listener.port, '127.0.0.1');
  const headers = signRequest({
    credential: demoCredential,
    method: 'GET',
    path: '/v1/events',
    rawQuery: 'wait=30',
    body: null,
    headerSet: 'short',
    atMs: clock.wallMs(),
  });
  const lines = Object.entries({ Host: 'localhost', ...headers }).map(([name, value]) => `${name}: ${value}`);
  caller.write(`GET /v1/events?wait=30 HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
  await readers.entered;
  caller.destroy();
  await readers.left;
  assert.equal(readers.size, 0);
  await pipeline.idle();
  listener.close();
});
