/**
 * Everything that docs/openapi.yaml documents, provoked over real sockets and held against it: on the real server
 * where a caller can bring it about, and on the same front end before a house that breaks where only a fault can.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { DeviceDirectory } from '../../src/actor/device-directory.ts';
import { neverConnected } from '../../src/domain/connectivity.ts';
import { generateSessionId } from '../../src/domain/ids.ts';
import { Authenticator } from '../../src/http/authenticator.ts';
import { connectivityRoute } from '../../src/http/connectivity-route.ts';
import { ApiListener } from '../../src/http/listener.ts';
import { Pipeline } from '../../src/http/pipeline.ts';
import { RouteTable } from '../../src/http/route-table.ts';
import { wakeupRoute } from '../../src/http/wakeup-route.ts';
import { WakeupLimits } from '../../src/operations/wakeup-limits.ts';
import { WakeupMemory } from '../../src/operations/wakeup-memory.ts';
import { SigningKeyCache } from '../../src/tgv1/signing-key.ts';
import { InlineVerifier } from '../../src/workers/inline-verifier.ts';
import { ApiClient, type ApiAnswer, type ApiCall } from '../support/api-client.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import {
  FakeAcceptedWakeups,
  FakeConnection,
  FakeLog,
  FakeRecords,
  FakeRegistry,
  FakeTelemetry,
  testDevice,
} from '../support/fakes.ts';
import { assertMatchesOpenapi, unseenResponses } from '../support/openapi.ts';
import { credentialOf } from '../support/signed-requests.ts';
import { startTestServer, testCredentials, type TestServer } from '../support/test-server.ts';

const query = { method: 'GET', path: '/v1/device/connectivity' } as const;
const wakeup = { method: 'POST', path: '/v1/device/wakeup-request' } as const;

/** Makes the call, holds the answer against the document, and demands this status and code. */
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

function wake(deviceId: string, change: ApiCall = {}): ApiCall {
  return { ...wakeup, body: JSON.stringify({ device_id: deviceId }), ...change };
}

let server: TestServer;
before(async () => {
  server = await startTestServer({ overrides: ['wakeup.device_per_second=0.001', 'wakeup.device_burst=1'] });
});
after(() => server.stop());

const { reader, waker } = testCredentials;
const tooLarge = 'x'.repeat(65_537);
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
  [{ ...ask('TESTDEVICE01'), body: tooLarge }, 413, 41300],
  [{ ...query, method: 'DELETE' }, 405, 40500],
  [{ ...query, path: '/v1/device' }, 404, 40400],
  [wake(''), 400, 40003],
  [wake('TESTDEVICE01', { spoil: { 'X-Request-ID': '' } }), 400, 40003],
  [wake('TESTDEVICE01', { credential: wrongSecret }), 401, 40105],
  [wake('TESTDEVICE01', { spoil: { Authorization: 'Bearer x' } }), 401, 40105],
  [wake('TESTDEVICE01', { credential: reader }), 403, 40301],
  [wake('FOREIGN01'), 403, 40302],
  [wake('EXPIRED01'), 403, 40304],
  [wake('NOBODY'), 404, 40403],
  [wake('TESTDEVICE01', { spoil: { 'X-Request-ID': 'ring 1' } }), 404, 40412],
  [wake('TESTDEVICE01', { body: tooLarge }), 413, 41300],
  [wake('TESTDEVICE01', { contentType: 'text/plain' }), 415, 41500],
  [{ ...wakeup, method: 'PUT', body: '{}', spoil: { 'X-Request-ID': 'ring 2' } }, 405, 40500],
];
for (const [call, status, code] of callers)
  test(`a caller can bring about ${call.method} ${call.path} ${status} ${code}, as documented`, async () => {
    await provoke(server.api, call, status, code);
  });

test('a HEAD has the headers that are documented and no body', async () => {
  const answer = await server.api.call({ ...ask('TESTDEVICE01'), sentMethod: 'HEAD' });
  assertMatchesOpenapi('HEAD', query.path, { ...answer, body: undefined });
  assert.equal(answer.text, '');
});

test('a wakeup that is accepted and the one over its limit are as documented', async () => {
  const module = await server.module('SLEEPING01');
  await provoke(server.api, wake('SLEEPING01'), 202, 0);
  const body = '{"device_id":"SLEEPING01","custom_data":"0x0001"}';
  await provoke(server.api, wake('SLEEPING01', { body }), 429, 42901);
  await module.close();
});

test('a wakeup that the module does not take is as documented', async () => {
  const module = await server.module('SLEEPING02', { wakeMode: 'none' });
  await provoke(server.api, wake('SLEEPING02'), 409, 40902);
  await module.close();
});

/** The real front end before a house of stand-ins, in which a device sleeps; a test breaks what it needs broken. */
async function openBreakableHouse() {
  const clock = new DrivenClock();
  const log = new FakeLog();
  const registry = new FakeRegistry();
  const records = new FakeRecords();
  const telemetry = new FakeTelemetry();
  const connection = new FakeConnection();
  const directory = new DeviceDirectory(records);
  const signingKeys = new SigningKeyCache(10);
  const { all } = testCredentials;
  registry.credentials.set(all.accessKeyId, credentialOf(all));
  directory.claim(testDevice).post({
    event: { kind: 'login', sessionId: generateSessionId(), wakeMode: 'custom', at: 1, heartbeatAt: 0 },
    connection,
  });
  const rate = { perSecond: 1, burst: 1 };
  const house = {
    clock,
    log,
    registry,
    directory,
    telemetry,
    signingKeys,
    verifier: new InlineVerifier(),
    sleepRecords: records,
    memory: new WakeupMemory(new FakeAcceptedWakeups(), clock, 10),
    limits: new WakeupLimits(clock, { device: rate, application: rate, inFlightMax: 1 }),
    isDraining: () => false,
  };
  const routes = new RouteTable([connectivityRoute(house), wakeupRoute(house)]);
  const authenticator = new Authenticator(house, { windowMs: 300_000, explainMismatch: true });
  const listener = new ApiListener(new Pipeline({ ...house, routes, authenticator }));
  const api = new ApiClient(await listener.listen('127.0.0.1', 0), all, () => clock.wallMs());
  const close = (): void => {
    api.close();
    listener.close();
  };
  return { clock, registry, records, telemetry, connection, directory, api, close };
}

type BreakableHouse = Awaited<ReturnType<typeof openBreakableHouse>>;

const broken = new Error('broken by the test');

const faults: readonly {
  readonly name: string;
  readonly breakIt: (house: BreakableHouse) => void;
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
];
for (const { name, breakIt, call, answer } of faults)
  test(`${name} is answered ${answer.join(' ')}, as documented`, async () => {
    const house = await openBreakableHouse();
    try {
      breakIt(house);
      await provoke(house.api, call, ...answer);
    } finally {
      house.close();
    }
  });

test('nothing is documented that was not provoked', () => {
  assert.deepEqual(unseenResponses(), []);
});
