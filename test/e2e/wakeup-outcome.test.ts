/** Outcomes of wakeups, from the packet at the module to the login of the controller, over real sockets. */
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { wakeupToOnlineMsMax } from '../../src/model/limits.ts';
import { ApiClient, type ApiAnswer, type ApiCall } from '../support/api-client.ts';
import { checkLog } from '../support/event-log-check.ts';
import {
  clearDevices,
  metric,
  metricsOf,
  startDrivenServer,
  type DrivenServer,
} from '../support/driven-server.ts';
import { nextTurn } from '../support/event-loop.ts';
import { EventReader, readLog } from '../support/event-reader.ts';

let server: DrivenServer;
before(async () => {
  server = await startDrivenServer();
});
afterEach(() => clearDevices(server, [device]));
after(async () => {
  checkLog(await readLog(server.api));
  await server.stop();
  assert.deepEqual(
    server.log.lines.filter(({ level }) => level === 'error'),
    [],
  );
});

const device = 'SLEEPING01';
const fixedPacket = Buffer.from('983b16f8f39c0000', 'hex');

let made = 0;
/** An accepted wakeup with a unique id and packet; resolves with its request id. */
async function wake(deviceId = device, from = server): Promise<string> {
  const requestId = `wake-${(made += 1)}`;
  const body = { device_id: deviceId, number: made };
  const answer = await from.api.wake(body, { spoil: { 'X-Request-ID': requestId } });
  assert.equal(answer.status, 202, answer.text);
  return requestId;
}

function ask(requestId: string, waitS = 0, from = server, call: ApiCall = {}): Promise<ApiAnswer> {
  const query = `request_id=${requestId}&wait=${waitS}`;
  return from.api.call({ path: '/v1/device/wakeup-request', query, ...call });
}

type Outcome = Readonly<Record<string, unknown>>;

async function outcome(requestId: string, waitS = 0, from = server): Promise<Outcome> {
  const { status, json, text } = await ask(requestId, waitS, from);
  assert.deepEqual([status, json.code], [200, 0], text);
  return json.data ?? {};
}

/** Resolves when earlier calls are being handled, though not answered. */
async function underWay(from = server): Promise<void> {
  await from.api.connectivity(device);
}

function stamp(wallMs: number): string {
  return new Date(wallMs).toISOString().replace('Z', '+00:00');
}

/** Refills the rate limit between tests. */
function rest(): void {
  server.clock.advance(5000);
}

async function leave(...connections: { close(): Promise<unknown> }[]): Promise<void> {
  const reader = await EventReader.fromNow(server.api);
  await Promise.all(connections.map((connection) => connection.close()));
  await reader.next(connections.length);
  rest();
}

test('a wakeup is completed by the next login, and long polls receive its duration', async () => {
  const reader = await EventReader.fromNow(server.api);
  const module = await server.module(device);
  const acceptedAtMs = server.clock.wallMs();
  const requestId = await wake();
  assert.deepEqual(await module.nextPacket(), fixedPacket);
  const about = { request_id: requestId, device_id: device, accepted_at: stamp(acceptedAtMs) };
  const open = { completed_at: null, woke_after_ms: null, already_online: false, cause: null };
  assert.deepEqual(await outcome(requestId), { ...about, status: 'accepted', ...open });
  const waiting = outcome(requestId, 5);
  await underWay();
  server.clock.advance(2345);
  const controller = await server.controller(device);
  const completed = {
    ...about,
    status: 'completed',
    completed_at: stamp(acceptedAtMs + 2345),
    woke_after_ms: 2345,
    already_online: false,
    cause: null,
  };
  assert.deepEqual(await waiting, completed);
  assert.deepEqual(await outcome(requestId, 5), completed, 'a later reader does not wait');
  const told = await reader.next(4);
  assert.deepEqual(
    told.map(({ type, epoch, data }) => [type, epoch, data['request_id'], data['woke_after_ms']]),
    [
      ['device.sleep.login', 1, undefined, undefined],
      ['device.wakeup.accepted', 1, requestId, undefined],
      ['device.signal.online', 1, undefined, undefined],
      ['device.wakeup.completed', 1, requestId, 2345],
    ],
  );
  assert.equal(metric(await metricsOf(server), 'reveille_wakeup_to_online_seconds_sum'), 2.345);
  assert.equal(metric(await metricsOf(server), 'reveille_wakeup_to_online_seconds_count'), 1);
  await leave(module, controller);
});

test('the wake report of the controller is in a later answer, once', async () => {
  const module = await server.module(device);
  const [first, second] = [await wake(), await wake()];
  const controller = await server.controller(device);
  controller.reportWake('event', second);
  controller.reportWake('remote');
  controller.reportWake('abnormal');
  await answered(controller);
  assert.equal((await outcome(second))['cause'], 'event');
  assert.equal((await outcome(first))['cause'], 'remote');
  await leave(module, controller);
});

/** Resolves when its earlier messages are handled. */
async function answered(controller: Awaited<ReturnType<DrivenServer['controller']>>): Promise<void> {
  const acks = controller.heartbeatAcks;
  controller.heartbeat();
  while (controller.heartbeatAcks === acks) await nextTurn();
}

test('a disconnect during a long poll affects no other', async () => {
  const module = await server.module(device);
  const requestId = await wake();
  const hangUp = await startImpatient(requestId);
  const waiting = outcome(requestId, 5);
  await underWay();
  hangUp();
  await underWay();
  server.clock.advance(100);
  const controller = await server.controller(device);
  assert.equal((await waiting)['status'], 'completed');
  await leave(module, controller);
});

/** A reader on its own connection; the returned function disconnects. */
async function startImpatient(requestId: string): Promise<() => void> {
  const api = new ApiClient(server.ports.api, server.credentials.all, () => server.clock.wallMs());
  api
    .call({ path: '/v1/device/wakeup-request', query: `request_id=${requestId}&wait=30` })
    .catch(() => undefined);
  await underWay();
  return () => api.close();
}

test('an orderly restart answers long polls, and the outcome is still found', async () => {
  const first = await startDrivenServer();
  const { clock, dataDirectory } = first;
  const modules = [await first.module(device), await first.module('SLEEPING02')];
  const acceptedMs = clock.monotonicMs();
  const [completes, expires] = [await wake(device, first), await wake('SLEEPING02', first)];
  const waiting = outcome(completes, 30, first);
  await underWay(first);
  const stopped = first.server.stop();
  assert.equal((await waiting)['status'], 'accepted');
  clock.advance(200);
  await stopped;
  first.api.close();
  await Promise.all(modules.map(({ closed }) => closed));
  clock.advance(3000);

  const second = await startDrivenServer({ clock, dataDirectory });
  const again = outcome(completes, 30, second);
  await underWay(second);
  clock.advance(1000);
  const controller = await second.controller(device);
  const tookMs = clock.monotonicMs() - acceptedMs;
  const completed = await again;
  assert.deepEqual([completed['status'], completed['woke_after_ms']], ['completed', tookMs]);
  clock.advance(acceptedMs + wakeupToOnlineMsMax + 500 - clock.monotonicMs());
  assert.equal((await outcome(expires, 5, second))['status'], 'expired');
  await controller.close();
  const told = await readLog(second.api);
  const { wakeups } = checkLog(told);
  assert.deepEqual(
    [...wakeups],
    [
      [completes, 'device.wakeup.completed'],
      [expires, 'device.wakeup.expired'],
    ],
  );
  await second.stop();
});
