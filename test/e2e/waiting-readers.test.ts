/** Readers that wait for events over real HTTP: very many of them, who is woken, who stays until the drain, and one that hangs up. */
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { test } from 'node:test';
import { connect } from 'node:net';
import { Authenticator } from '../../src/gateways/api/authenticator.ts';
import type { ApiServices } from '../../src/gateways/api/api-services.ts';
import { apiRoutes } from '../../src/gateways/api/routes.ts';
import { ListeningApps } from '../../src/lib/uws.ts';
import { RequestLog } from '../../src/core/requests/request-log.ts';
import { IncomingRequests } from '../../src/gateways/api/incoming-requests.ts';
import { Pipeline } from '../../src/gateways/api/pipeline.ts';
import { EventWaiters } from '../../src/core/events/event-waiters.ts';
import { scanQueueShape, type ReadEventsDeps } from '../../src/core/events/read-events.ts';
import { FairQueue } from '../../src/lib/fair-queue.ts';
import { WaitingReaders, type ReaderSlot } from '../../src/core/events/waiting-readers.ts';
import { SigningKeyCache } from '../../src/protocol/tgv1/signature.ts';
import { signRequest } from '../../src/protocol/tgv1/sign-request.ts';
import { inlineVerifier } from '../../src/gateways/verification/hmac-pool.ts';
import { ApiClient, type ApiAnswer } from '../support/api-client.ts';
import { startDrivenServer, type DrivenServer } from '../support/driven-server.ts';
import { testCredentials } from '../support/test-server.ts';
import { anyConnections } from '../support/fake-http.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import { FakeLog, FakeRegistry, FakeTelemetry } from '../support/fakes.ts';
import { ScriptedEventLog } from '../support/scripted-event-log.ts';
import { demoCredential } from '../support/signed-requests.ts';

const readersOfEach = 500;

interface Page {
  readonly events: readonly { readonly device_id: string; readonly type: string }[];
  readonly next: string;
}

function pageOf({ status, json, text }: ApiAnswer): Page {
  assert.deepEqual([status, json.code], [200, 0], text);
  return json.data as unknown as Page;
}

/** The readers of one application. */
class Crowd {
  readonly api: ApiClient;
  readonly answered: Page[] = [];
  readonly #reading: Promise<void>[] = [];

  constructor(server: DrivenServer, credential: (typeof testCredentials)['all']) {
    this.api = new ApiClient(server.ports.api, credential, () => server.clock.wallMs());
  }

  /** Each on a connection that is there already, so that all ask before anybody else does anything. */
  async come(count: number): Promise<void> {
    const connected = await Promise.all(Array.from({ length: count }, () => this.#read('after=latest')));
    const { next } = pageOf(connected[0] as ApiAnswer);
    for (let i = 0; i < count; i++)
      this.#reading.push(
        this.#read(`after=${next}&wait=30`).then((answer) => void this.answered.push(pageOf(answer))),
      );
    await this.present();
  }

  /** Resolves when what was asked before has been taken up. */
  async present(): Promise<void> {
    await this.#read('after=latest');
  }

  async all(): Promise<readonly Page[]> {
    await Promise.all(this.#reading);
    return this.answered;
  }

  #read(query: string): Promise<ApiAnswer> {
    return this.api.call({ path: '/v1/events', query });
  }
}

test("of 1 000 waiting readers an event wakes its application's alone; the others are answered at the drain", async () => {
  const server = await startDrivenServer();
  const concerned = new Crowd(server, testCredentials.other);
  const others = new Crowd(server, testCredentials.all);
  await Promise.all([concerned.come(readersOfEach), others.come(readersOfEach)]);
  assert.deepEqual([concerned.answered.length, others.answered.length], [0, 0]);
  const controller = await server.controller('FOREIGN01');
  for (const { events } of await concerned.all())
    assert.deepEqual(
      events.map(({ type, device_id }) => [type, device_id]),
      [['device.signal.online', 'FOREIGN01']],
    );
  await others.present();
  assert.equal(concerned.answered.length, readersOfEach);
  assert.equal(others.answered.length, 0, 'nobody else was woken');
  const stopped = server.server.stop();
  for (const { events } of await others.all()) assert.deepEqual(events, []);
  assert.equal(others.answered.length, readersOfEach);
  server.clock.advance(200);
  await stopped;
  await controller.closed;
  for (const { api } of [server, concerned, others]) api.close();
  await rm(server.dataDirectory, { recursive: true, force: true });
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
  const requests = new IncomingRequests(clock);
  requests.serve(pipeline.handle);
  const listener = new ListeningApps({ host: '127.0.0.1', port: 0, sharesPort: false, tls: null }, (app) => {
    connections.watch(app).any('/*', requests.handle);
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
  await requests.idle();
  listener.close();
});
