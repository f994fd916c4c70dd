/**
 * Everything documented in docs/openapi.yaml is provoked over real sockets and compared with it: on the real server if a client can cause
 * it, otherwise on the same pipeline with a server that fails.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { noPeers } from '../../src/core/ports/peers.ts';
import { OutcomeWaiters } from '../../src/core/wakeups/log-followers.ts';
import { CallDirectory } from '../../src/core/calls/call-directory.ts';
import { DeviceDirectory } from '../../src/core/devices/device-directory.ts';
import { UnclaimedSessions } from '../../src/core/devices/unclaimed-sessions.ts';
import { WakeupWatch } from '../../src/core/wakeups/wakeup-watch.ts';
import { TokenKeys } from '../../src/protocol/call-token/token-keys.ts';
import { neverConnected } from '../../src/model/connectivity.ts';
import { generateSessionId, type RequestId } from '../../src/model/ids.ts';
import type { WakeMode, WakeWriteResult } from '../../src/model/sleep.ts';
import { Authenticator, type AuthenticatorDeps } from '../../src/gateways/api/authenticator.ts';
import type { ApiServices } from '../../src/gateways/api/api-services.ts';
import { Dispatcher, type DispatcherDeps } from '../../src/gateways/api/dispatcher.ts';
import { apiRoutes } from '../../src/gateways/api/routes.ts';
import type { DeviceList } from '../../src/core/devices/list-devices.ts';
import { fail } from '../../src/lib/result.ts';
import { refusal } from '../../src/model/codes.ts';
import type { ProvisioningAnswer } from '../../src/model/provisioning.ts';
import { ApiPort } from '../../src/gateways/api/api-port.ts';
import { ApiFronts } from '../../src/gateways/fronts/api-fronts.ts';
import type { Credential } from '../../src/model/registry.ts';
import { Pipeline } from '../../src/gateways/api/pipeline.ts';
import { ApplicationLimit, WakeupLimits } from '../../src/core/devices/request-limits.ts';
import { EventWaiters } from '../../src/core/events/event-waiters.ts';
import { scanQueueShape } from '../../src/core/events/read-events.ts';
import { observeOwn } from '../../src/core/devices/observe-device.ts';
import { batchQueueShape } from '../../src/core/devices/query-connectivity-batch.ts';
import { FairQueue } from '../../src/lib/collections/fair-queue.ts';
import { callsHere } from '../../src/core/ports/call-locator.ts';
import { AnsweredEnds } from '../../src/core/calls/end-call.ts';
import { EndedCalls } from '../../src/core/calls/ended-calls.ts';
import { IssuedCalls } from '../../src/core/calls/issue-call-credentials.ts';
import { messagesKnownMax } from '../../src/model/limits.ts';
import { AnswerMemory } from '../../src/core/messages/answer-memory.ts';
import { WaitingReaders } from '../../src/core/events/waiting-readers.ts';
import { RequestLog } from '../../src/core/requests/request-log.ts';
import { AnsweredWakeups } from '../../src/core/wakeups/answered-wakeups.ts';
import { WakeupMemory } from '../../src/core/wakeups/wakeup-memory.ts';
import { SigningKeyCache } from '../../src/protocol/tgv1/signature.ts';
import { inlineVerifier } from '../../src/gateways/verification/late-verifier.ts';
import { anyConnections } from '../support/fake-http.ts';
import { ApiClient, type ApiAnswer, type ApiCall } from '../support/api-client.ts';
import {
  callBody,
  callEnd,
  callStatus,
  connectBridge,
  issuance,
  issueCall,
} from '../support/call-actions.ts';
import { callEndOrder, callOrder } from '../support/call-scene.ts';
import { newKey } from '../support/call-tokens.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import {
  FakeCallRecords,
  FakeConnection,
  FakeLog,
  FakeRecords,
  FakeRegistry,
  FakeSignalConnection,
  FakeTelemetry,
  FakeWakeupRecords,
  testApp,
  testDevice,
} from '../support/fakes.ts';
import { assertMatchesOpenapi, unseenResponses } from '../support/openapi.ts';
import { anEvent, ScriptedEventLog } from '../support/scripted-event-log.ts';
import { credentialOf } from '../support/signed-requests.ts';
import { acceptedWakeup } from '../support/stored-wakeups.ts';
import { startInlineFront } from '../support/inline-front.ts';
import { everyServer, startTestServer, testCredentials, type TestServer } from '../support/test-server.ts';

const query = { method: 'GET', path: '/v1/device/connectivity' } as const;
const batch = { method: 'POST', path: '/v1/devices/connectivity' } as const;
const wakeup = { method: 'POST', path: '/v1/device/wakeup-request' } as const;
const outcome = { method: 'GET', path: '/v1/device/wakeup-request' } as const;
const message = { method: 'POST', path: '/v1/device/message' } as const;
const events = { method: 'GET', path: '/v1/events' } as const;
const devices = { method: 'GET', path: '/v1/devices' } as const;

function statusOf(deviceId: string, change: ApiCall = {}): ApiCall {
  return { ...callStatus, query: `device_id=${deviceId}`, ...change };
}

function end(body: object, change: ApiCall = {}): ApiCall {
  return { ...callEnd, body: JSON.stringify({ device_id: 'TESTDEVICE01', ...body }), ...change };
}

function issue(body: object = {}, change: ApiCall = {}): ApiCall {
  return { ...issuance, body: JSON.stringify(callBody(body)), ...change };
}

function add(deviceId: string, change: ApiCall = {}): ApiCall {
  const body = JSON.stringify({ devices: [{ device_id: deviceId, product_id: 'doorbell' }] });
  return { ...devices, method: 'POST', body, ...change };
}

function changeOf(deviceId: string, change: ApiCall = {}): ApiCall {
  const body = JSON.stringify({ device_id: deviceId, labels: { seen: String(Math.random()) } });
  return { ...devices, method: 'PATCH', body, ...change };
}

function removal(deviceId: string, change: ApiCall = {}): ApiCall {
  return { ...devices, method: 'DELETE', query: `device_id=${deviceId}`, ...change };
}

/** Makes the call, validates the answer against the document, and asserts status and code. */
async function provoke(api: ApiClient, call: ApiCall, status: number, code: number): Promise<ApiAnswer> {
  const answer = await api.call(call);
  const method = call.sentMethod ?? call.method ?? 'GET';
  assertMatchesOpenapi(method, call.path ?? query.path, { ...answer, body: answer.json });
  assert.deepEqual([answer.status, answer.json.code], [status, code], answer.text);
  return answer;
}

function ask(deviceId: string): ApiCall {
  return { ...query, query: `device_id=${deviceId}` };
}

function askAll(deviceIds: unknown, change: ApiCall = {}): ApiCall {
  return { ...batch, body: JSON.stringify({ device_ids: deviceIds }), ...change };
}

function wake(deviceId: string, change: ApiCall = {}): ApiCall {
  return { ...wakeup, body: JSON.stringify({ device_id: deviceId }), ...change };
}

function outcomeOf(requestId: string, change: ApiCall = {}): ApiCall {
  return { ...outcome, query: `request_id=${encodeURIComponent(requestId)}`, ...change };
}

function send(deviceId: string, change: ApiCall = {}): ApiCall {
  return { ...message, body: JSON.stringify({ device_id: deviceId, name: 'ping', payload: {} }), ...change };
}

/** A device that may sleep. */
function sendWaking(deviceId: string, change: ApiCall = {}): ApiCall {
  return send(deviceId, {
    body: JSON.stringify({ device_id: deviceId, name: 'ping', payload: {}, wake: true, wait: 0 }),
    ...change,
  });
}

let server: TestServer;
before(async () => {
  server = await startTestServer({ overrides: ['wakeup.device_per_second=0.001', 'wakeup.device_burst=1'] });
});
after(() => server.stop());

const { reader, waker } = testCredentials;
const tooLarge = 'x'.repeat(65_537);
const twoLengths = { 'Content-Length': ['0', '0'] };
const inChunks = { 'Transfer-Encoding': 'chunked', 'Content-Length': null };
const wrongSecret = { ...testCredentials.all, secretKey: 'wrong' };

const callers: readonly (readonly [call: ApiCall, status: number, code: number])[] = [
  [ask('TESTDEVICE01'), 200, 0],
  [ask(''), 200, 40003],
  [{ ...ask('TESTDEVICE01'), credential: waker }, 200, 40301],
  [ask('FOREIGN01'), 200, 40302],
  [ask('EXPIRED01'), 200, 40304],
  [ask('NOBODY'), 200, 40403],
  [{ ...ask('TESTDEVICE01'), credential: wrongSecret }, 401, 40105],
  [{ ...ask('TESTDEVICE01'), spoil: { 'X-Tg-Date': null } }, 401, 40105],
  [{ ...ask('TESTDEVICE01'), atMs: 0 }, 401, 40105],
  [{ ...ask('TESTDEVICE01'), spoil: twoLengths }, 400, 40000],
  [{ ...ask('TESTDEVICE01'), spoil: inChunks }, 411, 41100],
  [{ ...ask('TESTDEVICE01'), body: tooLarge }, 413, 41300],
  [{ ...query, method: 'DELETE' }, 405, 40500],
  [{ ...query, path: '/v1/device' }, 404, 40400],
  [askAll(['TESTDEVICE01', 'NOBODY', 'FOREIGN01', 'EXPIRED01', '']), 200, 0],
  [askAll([]), 200, 40003],
  [askAll(['TESTDEVICE01'], { credential: waker }), 200, 40301],
  [askAll(['TESTDEVICE01'], { credential: wrongSecret }), 401, 40105],
  [askAll(['TESTDEVICE01'], { spoil: twoLengths }), 400, 40000],
  [askAll(['TESTDEVICE01'], { spoil: inChunks }), 411, 41100],
  [askAll(['TESTDEVICE01'], { body: tooLarge }), 413, 41300],
  [askAll(['TESTDEVICE01'], { contentType: 'text/plain' }), 415, 41500],
  [{ ...batch, method: 'GET' }, 405, 40500],
  [wake(''), 400, 40003],
  [wake('TESTDEVICE01', { spoil: { 'X-Request-ID': '' } }), 400, 40003],
  [wake('TESTDEVICE01', { credential: wrongSecret }), 401, 40105],
  [wake('TESTDEVICE01', { spoil: { Authorization: 'Bearer x' } }), 401, 40105],
  [wake('TESTDEVICE01', { credential: reader }), 403, 40301],
  [wake('FOREIGN01'), 403, 40302],
  [wake('EXPIRED01'), 403, 40304],
  [wake('NOBODY'), 404, 40403],
  [wake('TESTDEVICE01', { spoil: { 'X-Request-ID': 'ring 1' } }), 404, 40412],
  [wake('TESTDEVICE01', { spoil: twoLengths }), 400, 40000],
  [wake('TESTDEVICE01', { spoil: inChunks }), 411, 41100],
  [wake('TESTDEVICE01', { body: tooLarge }), 413, 41300],
  [wake('TESTDEVICE01', { contentType: 'text/plain' }), 415, 41500],
  [{ ...wakeup, method: 'PUT', body: '{}', spoil: { 'X-Request-ID': 'ring 2' } }, 405, 40500],
  [outcomeOf(''), 400, 40003],
  [outcomeOf('x', { query: 'request_id=x&wait=31' }), 400, 40003],
  [outcomeOf('x', { credential: wrongSecret }), 401, 40105],
  [outcomeOf('x', { credential: reader }), 403, 40301],
  [outcomeOf('never asked for'), 404, 40413],
  [outcomeOf('x', { spoil: twoLengths }), 400, 40000],
  [outcomeOf('x', { spoil: inChunks }), 411, 41100],
  [outcomeOf('x', { body: tooLarge }), 413, 41300],
  [send(''), 400, 40003],
  [send('TESTDEVICE01', { credential: wrongSecret }), 401, 40105],
  [send('TESTDEVICE01', { credential: reader }), 403, 40301],
  [send('FOREIGN01'), 403, 40302],
  [send('EXPIRED01'), 403, 40304],
  [send('NOBODY'), 404, 40403],
  [send('TESTDEVICE01'), 404, 40412],
  [sendWaking('TESTDEVICE01'), 404, 40412],
  [send('TESTDEVICE01', { spoil: twoLengths }), 400, 40000],
  [send('TESTDEVICE01', { spoil: inChunks }), 411, 41100],
  [send('TESTDEVICE01', { body: tooLarge }), 413, 41300],
  [send('TESTDEVICE01', { contentType: 'text/plain' }), 415, 41500],
  [{ ...message, method: 'GET' }, 405, 40500],
  [events, 200, 0],
  [{ ...events, query: 'after=latest' }, 200, 0],
  [{ ...events, query: 'limit=0' }, 200, 40003],
  [{ ...events, credential: reader }, 200, 40301],
  [{ ...events, credential: wrongSecret }, 401, 40105],
  [{ ...events, spoil: twoLengths }, 400, 40000],
  [{ ...events, spoil: inChunks }, 411, 41100],
  [{ ...events, body: tooLarge }, 413, 41300],
  [{ ...events, method: 'POST', body: '{}' }, 405, 40500],
  [statusOf('TESTDEVICE01'), 200, 0],
  [statusOf(''), 200, 40003],
  [statusOf('TESTDEVICE01', { credential: reader }), 200, 40301],
  [statusOf('FOREIGN01'), 200, 40302],
  [statusOf('EXPIRED01'), 200, 40304],
  [statusOf('NOBODY'), 200, 40403],
  [statusOf('TESTDEVICE01', { credential: wrongSecret }), 401, 40105],
  [statusOf('TESTDEVICE01', { spoil: twoLengths }), 400, 40000],
  [statusOf('TESTDEVICE01', { spoil: inChunks }), 411, 41100],
  [statusOf('TESTDEVICE01', { body: tooLarge }), 413, 41300],
  [{ ...callStatus, method: 'PUT', body: '{}' }, 405, 40500],
  [end({ session: 'x', msg_room_id: 'y' }), 200, 40003],
  [end({ session: 'x' }, { credential: reader }), 200, 40301],
  [end({ session: 'x', device_id: 'FOREIGN01' }), 200, 40302],
  [end({ session: 'x', device_id: 'NOBODY' }), 200, 40403],
  [end({ session: 'x' }), 200, 40414],
  [end({ msg_room_id: 'x', device_id: 'EXPIRED01' }), 200, 40414],
  [end({ session: 'x' }, { credential: wrongSecret }), 401, 40105],
  [end({ session: 'x' }, { spoil: twoLengths }), 400, 40000],
  [end({ session: 'x' }, { spoil: inChunks }), 411, 41100],
  [end({ session: 'x' }, { body: tooLarge }), 413, 41300],
  [end({ session: 'x' }, { contentType: 'text/plain' }), 415, 41500],
  [{ ...callEnd, method: 'GET' }, 405, 40500],
  [issue(), 200, 0],
  [issue({ screen_width: 16_385 }), 200, 40003],
  [issue({}, { credential: reader }), 200, 40301],
  [issue({ device_id: 'FOREIGN01' }), 200, 40302],
  [issue({ device_id: 'EXPIRED01' }), 200, 40304],
  [issue({ device_id: 'NOBODY' }), 200, 40403],
  [issue({}, { credential: wrongSecret }), 401, 40105],
  [issue({}, { atMs: 0 }), 401, 40105],
  [issue({}, { spoil: twoLengths }), 400, 40000],
  [issue({}, { spoil: inChunks }), 411, 41100],
  [issue({}, { body: tooLarge }), 413, 41300],
  [issue({}, { contentType: 'text/plain' }), 415, 41500],
  [{ ...issuance, method: 'GET' }, 405, 40500],
  [devices, 200, 0],
  [{ ...devices, query: 'limit=1' }, 200, 0],
  [{ ...devices, query: 'online=yes' }, 400, 40003],
  [{ ...devices, query: 'product_id=foreign' }, 403, 40302],
  [{ ...devices, credential: reader }, 403, 40301],
  [add('PROVISIONED'), 200, 0],
  [add('FOREIGN01'), 200, 0],
  [add('', { body: '{"devices":[]}' }), 400, 40003],
  [add('PROVISIONED', { credential: reader }), 403, 40301],
  [changeOf('PROVISIONED', { body: '{"device_id":"PROVISIONED","secret":true}' }), 200, 0],
  [changeOf('PROVISIONED', { body: '{}' }), 400, 40003],
  [changeOf('PROVISIONED', { credential: reader }), 403, 40301],
  [changeOf('FOREIGN01'), 403, 40302],
  [changeOf('NOBODY'), 404, 40403],
  [removal('PROVISIONED'), 200, 0],
  [removal(''), 400, 40003],
  [removal('PROVISIONED', { credential: reader }), 403, 40301],
  [removal('FOREIGN01'), 403, 40302],
  [removal('NOBODY'), 404, 40403],
  ...[devices, add('X'), changeOf('X'), removal('X')].flatMap(
    (call): (readonly [call: ApiCall, status: number, code: number])[] => [
      [{ ...call, credential: wrongSecret }, 401, 40105],
      [{ ...call, spoil: twoLengths }, 400, 40000],
      [{ ...call, spoil: inChunks }, 411, 41100],
      [{ ...call, body: tooLarge }, 413, 41300],
    ],
  ),
  [add('X', { contentType: 'text/plain' }), 415, 41500],
  [changeOf('X', { contentType: 'text/plain' }), 415, 41500],
  [{ ...devices, method: 'PUT', body: '{}' }, 405, 40500],
];
for (const [call, status, code] of callers)
  test(`a client can cause ${call.method} ${call.path} ${status} ${code}, as documented`, async () => {
    await provoke(server.api, call, status, code);
  });

test('a HEAD has the documented headers and no body', async () => {
  const answer = await server.api.call({ ...ask('TESTDEVICE01'), sentMethod: 'HEAD' });
  assertMatchesOpenapi('HEAD', query.path, { ...answer, body: undefined });
  assert.equal(answer.text, '');
});

test('an accepted wakeup and one beyond the limit are as documented', async () => {
  const module = await server.module('SLEEPING01');
  await provoke(server.api, wake('SLEEPING01'), 202, 0);
  const body = '{"device_id":"SLEEPING01","custom_data":"0x0001"}';
  await provoke(server.api, wake('SLEEPING01', { body }), 429, 42901);
  await module.close();
});

test('a completed wakeup, its outcome and its events are as documented', async () => {
  const module = await server.module('a b c+');
  const accepted = await provoke(server.api, wake('a b c+'), 202, 0);
  const controller = await server.controller('a b c+', { media: { screen_width: 160 } });
  const told = await provoke(server.api, outcomeOf(String(accepted.json['request_id'])), 200, 0);
  assert.equal(told.json.data?.['status'], 'completed');
  const page = await provoke(server.api, { ...events, query: 'limit=1000' }, 200, 0);
  const { events: listed = [] } = (page.json.data ?? {}) as { events?: { type: string }[] };
  const types = listed.map(({ type }) => type);
  assert.ok(types.includes('device.wakeup.completed'), types.join());
  await controller.close();
  await module.close();
});

test('an acknowledged message is as documented', async () => {
  const controller = await server.controller('TESTDEVICE01', { autoAcknowledge: true });
  const body = '{"device_id":"TESTDEVICE01","name":"msga_join_voip_room","payload":{"token":"t"}}';
  await provoke(server.api, send('TESTDEVICE01', { body }), 200, 0);
  await controller.close();
});

test('credentials are refused as documented during a call, and while there are too many', async () => {
  const rooms = ['1', '2', '3', '4'].map((room) => ({ device_id: 'SLEEPING02', msg_room_id: room }));
  const bridges = [];
  for (const room of rooms) {
    const { session } = await issueCall(server, room);
    bridges.push(await connectBridge(server, { session }));
  }
  await provoke(server.api, issue({ ...rooms[0], audio_rate: 16000 }), 200, 40903);
  await provoke(server.api, issue({ device_id: 'SLEEPING02', msg_room_id: '5' }), 200, 42901);
  await provoke(server.api, statusOf('SLEEPING02'), 200, 0);
  for (const bridge of bridges) bridge.report('ended');
  await Promise.all(bridges.map(({ closed }) => closed));
});

test('a call that is ended, and requested again, is as documented', async () => {
  const { session } = await issueCall(server, { device_id: 'a b c+', msg_room_id: 'ended' });
  const rejected = end({ device_id: 'a b c+', msg_room_id: 'ended', reason: 'rejected' });
  const first = await provoke(server.api, rejected, 200, 0);
  const again = await provoke(server.api, end({ device_id: 'a b c+', session }), 200, 0);
  assert.deepEqual(again.json.data, first.json.data);
});

test('a wakeup that the module does not accept is as documented', async () => {
  const module = await server.module('SLEEPING02', { wakeMode: 'none' });
  await provoke(server.api, wake('SLEEPING02'), 409, 40902);
  await module.close();
});

/** The real pipeline in front of fakes with a sleeping device; a test makes parts fail. */
async function openBreakableDeps() {
  const clock = new DrivenClock();
  const log = new FakeLog();
  const registry = new FakeRegistry();
  const records = new FakeRecords();
  const telemetry = new FakeTelemetry();
  const connection = new FakeConnection();
  const signalRecords = new FakeRecords();
  const wakeupRecords = new FakeWakeupRecords();
  const signal = new FakeSignalConnection();
  const directory = new DeviceDirectory({ sleepRecords: records, signalRecords, node: 'test' });
  const watch = new WakeupWatch({ clock, records: wakeupRecords, telemetry });
  const signingKeys = new SigningKeyCache(10);
  const { all } = testCredentials;
  registry.credentials.set(all.accessKeyId, credentialOf(all));
  const actor = directory.claim(testDevice);
  const login = { kind: 'login', sessionId: generateSessionId(), atMs: 1000, heartbeatAt: 0 } as const;
  actor.post({ to: 'sleep', event: login, connection, wakeMode: 'custom', secretMark: 0 });
  actor.post({ to: 'signal', event: login, connection: signal, media: null, secretMark: 0 });
  const { sessionId: session } = login;
  const ended = { kind: 'ended', session, reason: 'reset', atMs: 2000, heartbeatAt: 0 } as const;
  const rate = { perSecond: 1, burst: 1 };
  const deps = {
    clock,
    log,
    registry,
    directory,
    telemetry,
    signingKeys,
    verifier: inlineVerifier,
    sleepRecords: records,
    signalRecords,
    wakeupRecords,
    watch,
    unclaimed: new UnclaimedSessions({ clock, directory }),
    memory: new WakeupMemory(wakeupRecords, clock, 10),
    limits: new WakeupLimits(clock, { device: rate, application: rate, inFlightMax: 1 }),
    peers: noPeers,
    observe: observeOwn,
    cluster: null,
    waiters: new OutcomeWaiters(new ScriptedEventLog()),
    isDraining: () => false,
    storeRefuses: () => false,
  };
  const eventLog = new ScriptedEventLog();
  const callRecords = new FakeCallRecords();
  const callDirectory = new CallDirectory({ ...deps, records: callRecords });
  const endedCalls = new EndedCalls(clock);
  callDirectory.follow(endedCalls);
  const ends = {
    ...deps,
    directory: callDirectory,
    records: callRecords,
    events: { recentOf: () => [] },
    ended: endedCalls,
    answered: new AnsweredEnds(clock, () => undefined, 1),
    callLocator: callsHere,
  };
  const calls = {
    ...deps,
    records: callRecords,
    directory: callDirectory,
    bridges: { hasIdleFor: () => false },
    requireBridge: false,
    addressInPeerId: false,
    mediaUrl: () => null,
    soundEncoders: () => null,
    callLocator: callsHere,
    keys: new TokenKeys([newKey]),
    issued: new IssuedCalls(clock, () => undefined),
  };
  const provisioning = {
    page: (): ReturnType<DeviceList['read']> => Promise.reject(broken),
    provision: (): Promise<ProvisioningAnswer> => Promise.reject(broken),
  };
  const waiters = new EventWaiters({ registry, events: eventLog, log });
  const readers = new WaitingReaders(clock, { max: 1, perApplicationMax: 1 });
  const queries = new ApplicationLimit(clock, rate);
  const batches = new WaitingReaders(clock, { max: 1, perApplicationMax: 1 });
  const batchQueue = new FairQueue(batchQueueShape);
  const requestLog = new RequestLog('off', clock, log);
  const outcomes = { ...deps, readers };
  const services: ApiServices = {
    limits: {
      queries,
      messages: null,
      eventReads: null,
      issuances: null,
      callEnds: null,
      provisionings: queries,
    },
    connectivity: deps,
    batches: { ...deps, batches, queue: batchQueue },
    wakeups: deps,
    answeredWakeups: new AnsweredWakeups(clock, log, requestLog),
    outcomes,
    messages: {
      ...deps,
      memory: new AnswerMemory(clock, messagesKnownMax),
      wakeups: deps,
      answeredWakeups: new AnsweredWakeups(clock, log, requestLog),
      outcomes,
      waiting: readers,
      wakings: new AnswerMemory(clock, messagesKnownMax),
    },
    events: { ...deps, events: eventLog, readers, queue: new FairQueue(scanQueueShape), waiters },
    calls,
    mixedFormats: 'allow',
    callEnds: ends,
    devices: { read: () => provisioning.page() },
    provision: () => provisioning.provision(),
  };
  const port = await openApi({ ...deps, services, requestLog });
  const api = new ApiClient(Number(port.address?.split(':').at(-1)), all, () => clock.wallMs());
  const close = async (): Promise<void> => {
    api.close();
    await port.close();
  };
  return {
    clock,
    registry,
    records,
    wakeupRecords,
    readers,
    batches,
    batchQueue,
    queries,
    eventLog,
    callRecords,
    callDirectory,
    ends,
    /** Keeps only its sleep session. */
    fallAsleep: () => void actor.post({ to: 'signal', event: ended }),
    provisioning,
    signal,
    telemetry,
    connection,
    directory,
    api,
    close,
  };
}

/** The listener in front of it: the pipeline, or fronts. */
async function openApi(
  deps: DispatcherDeps & AuthenticatorDeps & { readonly registry: FakeRegistry },
): Promise<ApiPort | ApiFronts> {
  const { clock, log, registry } = deps;
  const dispatcher = new Dispatcher(deps);
  const rules = { mixedFormats: 'allow', secretRules: { allowShortSecrets: false } } as const;
  const verification = { windowMs: 300_000, explainMismatch: true };
  const listen = { host: '127.0.0.1', port: 0 };
  if (everyServer.fronts === 0) {
    const authenticator = new Authenticator(deps, verification);
    const connections = anyConnections();
    const parts = { routes: apiRoutes, rules, log, dispatcher, authenticator, connections };
    const port = new ApiPort({ listen, tls: null, sharesPort: false }, connections, clock);
    await port.listen();
    port.serve(new Pipeline({ ...parts, isDraining: () => false }).handle);
    return port;
  }
  const fronts = new ApiFronts({
    clock,
    log,
    routes: apiRoutes,
    count: everyServer.fronts,
    sharesPort: false,
    start: { listen, tls: null, perAddressMax: 0, rules, verification },
    startThread: startInlineFront,
    connectionsMax: () => 100,
    onStuck: () => assert.fail('a front of the test is stuck'),
  });
  await fronts.listen();
  const allCredentials = (): readonly Credential[] => [...registry.credentials.values()];
  fronts.serve({ dispatcher, allCredentials, findCredential: (id) => registry.findCredential(id) });
  return fronts;
}

type BreakableMember = Awaited<ReturnType<typeof openBreakableDeps>>;

const broken = new Error('broken by the test');
const knownId = 'ring-7' as RequestId;
const awaitedWakeup = acceptedWakeup({ deviceId: testDevice, begunAtMs: 1000, acceptedAtMs: 1000 });

const faults: readonly {
  readonly name: string;
  readonly breakIt: (deps: BreakableMember) => void;
  readonly call: ApiCall;
  readonly answer: readonly [status: number, code: number];
}[] = [
  {
    name: 'a record that cannot be written out',
    breakIt: ({ records, directory }) => {
      directory.release(directory.claim(testDevice));
      records.records.set(testDevice, {
        ...neverConnected,
        get lastLoginAt(): number {
          throw broken;
        },
      });
    },
    call: ask(testDevice),
    answer: [200, 50000],
  },
  {
    name: 'a registry that cannot be read',
    breakIt: ({ registry }) => {
      registry.failure = broken;
    },
    call: ask(testDevice),
    answer: [200, 50301],
  },
  {
    name: 'a store that does not commit',
    breakIt: ({ records, clock }) => {
      records.committed = () => {
        setImmediate(() => clock.advance(2000));
        return new Promise(() => undefined);
      };
    },
    call: ask(testDevice),
    answer: [200, 50401],
  },
  {
    name: 'a queue that breaks',
    breakIt: ({ batchQueue }) => {
      batchQueue.run = () => Promise.reject(broken);
    },
    call: askAll([testDevice]),
    answer: [200, 50000],
  },
  {
    name: 'as many batches as may be under way',
    breakIt: ({ batches }) => {
      batches.enter(testApp);
    },
    call: askAll([testDevice]),
    answer: [200, 42901],
  },
  {
    name: 'a registry that cannot be read',
    breakIt: ({ registry }) => {
      registry.findCredential = () => {
        throw broken;
      };
    },
    call: askAll([testDevice]),
    answer: [200, 50301],
  },
  ...[ask(testDevice), askAll([testDevice]), statusOf(testDevice)].map((call) => ({
    name: 'an application that asks too often',
    breakIt: ({ queries }: BreakableMember): void => {
      queries.acquire(testApp);
    },
    call,
    answer: [200, 42901] as const,
  })),
  {
    name: 'a refusal that cannot be counted',
    breakIt: ({ telemetry, directory }) => {
      directory.release(directory.claim(testDevice));
      telemetry.wakeup = () => {
        throw broken;
      };
    },
    call: wake(testDevice),
    answer: [500, 50000],
  },
  {
    name: 'a socket that refuses the write',
    breakIt: ({ connection }) => {
      connection.immediately = 'refused';
    },
    call: wake(testDevice),
    answer: [502, 50204],
  },
  {
    name: 'a registry that cannot be read',
    breakIt: ({ registry }) => {
      registry.failure = broken;
    },
    call: wake(testDevice),
    answer: [503, 50301],
  },
  {
    name: 'a kernel that says nothing',
    breakIt: ({ connection }) => {
      connection.immediately = 'unknown';
    },
    call: wake(testDevice),
    answer: [504, 50402],
  },
  {
    name: 'too many wakeups on one connection',
    breakIt: ({ connection }) => {
      connection.immediately = 'busy';
    },
    call: wake(testDevice),
    answer: [429, 42901],
  },
  {
    name: 'as many readers as may wait for an outcome',
    breakIt: ({ wakeupRecords, readers }) => {
      wakeupRecords.save(testApp, knownId, awaitedWakeup, null);
      readers.enter(testApp);
    },
    call: outcomeOf(knownId, { query: `request_id=${knownId}&wait=1` }),
    answer: [429, 42901],
  },
  {
    name: 'an outcome that cannot be written out',
    breakIt: ({ wakeupRecords }) => {
      wakeupRecords.find = () => ({
        ...awaitedWakeup,
        get cause(): never {
          throw broken;
        },
      });
    },
    call: outcomeOf(knownId),
    answer: [500, 50000],
  },
  {
    name: 'an outcome that cannot be read',
    breakIt: ({ wakeupRecords }) => {
      wakeupRecords.find = () => {
        throw broken;
      };
    },
    call: outcomeOf(knownId),
    answer: [503, 50301],
  },
  {
    name: 'a device for which too many messages wait',
    breakIt: ({ signal }) => {
      signal.immediately = 'busy';
    },
    call: send(testDevice),
    answer: [429, 42901],
  },
  {
    name: 'a message that cannot be counted',
    breakIt: ({ telemetry }) => {
      telemetry.message = () => {
        throw broken;
      };
    },
    call: send(testDevice),
    answer: [500, 50000],
  },
  {
    name: 'a registry that cannot be read',
    breakIt: ({ registry }) => {
      registry.failure = broken;
    },
    call: send(testDevice),
    answer: [503, 50301],
  },
  {
    name: 'a device that does not acknowledge',
    breakIt: ({ signal }) => {
      signal.immediately = 'unknown';
    },
    call: send(testDevice),
    answer: [504, 50402],
  },
  ...[
    { wakeMode: 'none', writes: 'written', answer: [409, 40902] },
    { wakeMode: 'custom', writes: 'busy', answer: [429, 42901] },
    { wakeMode: 'custom', writes: 'refused', answer: [502, 50204] },
    { wakeMode: 'custom', writes: 'unreachable', answer: [503, 50301] },
    { wakeMode: 'custom', writes: 'unknown', answer: [504, 50402] },
    { wakeMode: 'custom', writes: 'written', answer: [504, 50402] },
  ].map(({ wakeMode, writes, answer }) => ({
    name: `a sleeping device (${wakeMode}) whose wakeup is ${writes} and which does not come`,
    breakIt: ({ fallAsleep, connection, directory }: BreakableMember): void => {
      fallAsleep();
      connection.immediately = writes as WakeWriteResult;
      const event = { kind: 'login', sessionId: generateSessionId(), atMs: 3000, heartbeatAt: 0 } as const;
      const mode = wakeMode as WakeMode;
      directory.claim(testDevice).post({ to: 'sleep', event, connection, wakeMode: mode, secretMark: 0 });
    },
    call: sendWaking(testDevice),
    answer: answer as [number, number],
  })),
  {
    name: 'as many readers as may be here',
    breakIt: ({ readers }) => {
      readers.enter(testApp);
    },
    call: events,
    answer: [200, 42901],
  },
  {
    name: 'an event that cannot be written out',
    breakIt: ({ eventLog }) => {
      eventLog.commit('doorbell');
      eventLog.read = () => [
        {
          ...anEvent(1),
          get atMs(): never {
            throw broken;
          },
        },
      ];
    },
    call: events,
    answer: [200, 50000],
  },
  {
    name: 'a log that cannot be read',
    breakIt: ({ eventLog }) => {
      eventLog.commit('doorbell');
      eventLog.failure = broken;
    },
    call: events,
    answer: [200, 50301],
  },
  {
    name: 'a store of calls that cannot be read',
    breakIt: ({ callRecords }) => {
      callRecords.failure = broken;
    },
    call: statusOf(testDevice),
    answer: [200, 50000],
  },
  {
    name: 'as many ends as are remembered',
    breakIt: ({ ends }) => {
      ends.answered.keep(callEndOrder(), { ok: false, error: { code: 40414, message: 'no such call' } });
    },
    call: end({ device_id: testDevice, msg_room_id: 'another' }),
    answer: [200, 42901],
  },
  {
    name: 'calls that cannot be looked through',
    breakIt: ({ callDirectory }) => {
      callDirectory.sessionsOf = () => {
        throw broken;
      };
    },
    call: end({ device_id: testDevice, session: 'x' }),
    answer: [200, 50000],
  },
  {
    name: 'a store that does not take the end',
    breakIt: ({ callRecords, callDirectory, clock }) => {
      callDirectory.issue(callOrder());
      callRecords.committed = () => {
        setImmediate(() => clock.advance(2000));
        return new Promise(() => undefined);
      };
    },
    call: end({ device_id: testDevice, msg_room_id: 'room-1' }),
    answer: [200, 50301],
  },
  {
    name: 'a store that breaks',
    breakIt: ({ callRecords }) => {
      callRecords.isOverloaded = () => {
        throw broken;
      };
    },
    call: issue(),
    answer: [200, 50000],
  },
  {
    name: 'a registry that cannot say what its product fills in',
    breakIt: ({ registry }) => {
      registry.findProduct = () => {
        throw broken;
      };
    },
    call: issue({ audio_rate: null }),
    answer: [200, 50000],
  },
  {
    name: 'a store that is far behind',
    breakIt: ({ callRecords }) => {
      callRecords.overloaded = true;
    },
    call: issue(),
    answer: [200, 50301],
  },
];
for (const { name, breakIt, call, answer } of faults)
  test(`${name} makes ${call.method} ${call.path} answer ${answer.join(' ')}, as documented`, async () => {
    const deps = await openBreakableDeps();
    try {
      breakIt(deps);
      await provoke(deps.api, call, ...answer);
    } finally {
      deps.close();
    }
  });

const provisionings = [devices, add(testDevice), changeOf(testDevice), removal(testDevice)] as const;
for (const call of provisionings) {
  const place = `${call.method} ${call.path}`;
  test(`${place} that fails, is overloaded or unavailable answers as documented`, async () => {
    const deps = await openBreakableDeps();
    try {
      await provoke(deps.api, call, 500, 50000);
      await provoke(deps.api, call, 429, 42901);
      deps.clock.advance(1000);
      const unavailable = async () => fail({ ...refusal(50301), retryAfterS: 1 });
      Object.assign(deps.provisioning, { page: unavailable, provision: unavailable });
      await provoke(deps.api, call, 503, 50301);
      if (call === devices) return;
      deps.clock.advance(1000);
      deps.provisioning.provision = async () => fail(refusal(50402));
      await provoke(deps.api, call, 504, 50402);
    } finally {
      deps.close();
    }
  });
}

test('everything documented was provoked', () => {
  assert.deepEqual(unseenResponses(), []);
});
