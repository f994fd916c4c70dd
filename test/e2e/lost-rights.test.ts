/** Who lost the right loses the session: every way of changing the registry, at the real server, over real sockets. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { DeviceLeg } from '../../src/cli/device-leg.ts';
import type { SignalController } from '../../src/cli/signal-controller.ts';
import type { SleepingModule } from '../../src/cli/sleeping-module.ts';
import type { ApiAnswer } from '../support/api-client.ts';
import { askCredentials, callBody, connectDevice, issuance, issueCall } from '../support/call-hands.ts';
import { clearDevices, opsOf } from '../support/driven-server.ts';
import { startTestServer, testCredentials, type TestServer } from '../support/test-server.ts';

interface Entries {
  credentials: Record<string, unknown>[];
  products: Record<string, unknown>[];
  devices: Record<string, unknown>[];
}

const device = 'TESTDEVICE01';
/** It is changed by nothing here. */
const bystander = 'SLEEPING02';

let server: TestServer;
let unchanged: Entries;
before(async () => {
  server = await startTestServer();
  unchanged = JSON.parse(await readFile(registryFile(), 'utf8')) as Entries;
});
after(() => server.stop());

function registryFile(): string {
  return join(server.dataDirectory, 'registry.json');
}

/** The whole registry with one device as it is to be; null: without it. */
function registryWith(change: object | null): Entries {
  const devices = unchanged.devices.flatMap((entry) =>
    entry['device_id'] !== device ? [entry] : change === null ? [] : [{ ...entry, ...change }],
  );
  return { ...unchanged, devices };
}

async function importInto(entries: object, replace = false): Promise<void> {
  const file = join(server.dataDirectory, 'upload.json');
  await writeFile(file, JSON.stringify(entries));
  await opsOf(server).importFile(file, replace, () => undefined);
}

/** As it was at the start. */
async function restore(): Promise<void> {
  await importInto(unchanged, true);
}

interface Present {
  readonly module: SleepingModule;
  readonly controller: SignalController;
  readonly leg: DeviceLeg;
}

async function comeInto(deviceId: string): Promise<Present> {
  const [module, controller] = [await server.module(deviceId), await server.controller(deviceId)];
  const { token } = await issueCall(server, { device_id: deviceId });
  return { module, controller, leg: await connectDevice(server, token) };
}

interface Told {
  readonly events: readonly { readonly type: string; readonly data: Readonly<Record<string, unknown>> }[];
  readonly head: number;
}

/** What operators see of the device: the events of one that is gone are no application's. Null: of the end of the log. */
async function logBehind(after: number | null): Promise<Told> {
  const ask = (behind: object): Promise<Told> =>
    opsOf(server).ask('/v1/events', new URLSearchParams({ device_id: device, ...behind }));
  if (after === null) return ask({ last: '0' });
  for (;;) {
    const told = await ask({ after: String(after), wait: '5' });
    if (told.events.length >= 3) return told;
  }
}

const secondMs = 1000;

/** Everything it had ends, and each end is told as kicked; all within a second of the change. */
async function losesAll({ module, controller, leg }: Present, change: () => Promise<unknown>): Promise<void> {
  const { head } = await logBehind(null);
  await change();
  const changedMs = performance.now();
  assert.deepEqual(await controller.closed, { code: 4401, reason: 'denied' });
  await module.closed;
  assert.equal((await leg.closed).code, 1000);
  const tookMs = performance.now() - changedMs;
  assert.ok(tookMs < secondMs, `it took ${tookMs} ms`);
  const { events } = await logBehind(head);
  const words = events.map(({ type, data }) => `${type} ${String(data['reason'])}`).toSorted();
  assert.deepEqual(words, [
    'call.ended error',
    'device.signal.offline kicked',
    'device.sleep.offline kicked',
  ]);
}

const ways: readonly { readonly name: string; readonly change: () => Promise<unknown> }[] = [
  { name: 'an import disables it', change: () => importInto(registryWith({ disabled: true })) },
  {
    name: 'an import gives it another secret',
    change: () => importInto(registryWith({ secret: 'another one' })),
  },
  { name: 'an import says that it has expired', change: () => importInto(registryWith({ expires_at: 1 })) },
  { name: 'an import with --replace does not have it', change: () => importInto(registryWith(null), true) },
  {
    name: 'the registry file gives it another secret, at SIGHUP',
    change: async () => {
      await writeFile(registryFile(), JSON.stringify(registryWith({ secret: 'another one' })));
      await server.server.reload();
    },
  },
  {
    name: 'an operator puts it anew, with another secret',
    change: () =>
      opsOf(server).change('/v1/device/add', {
        device_id: device,
        product_id: 'doorbell',
        secret: 'another one',
      }),
  },
  {
    name: 'an operator disables it',
    change: () => opsOf(server).change('/v1/device/disable', { device_id: device, disabled: true }),
  },
];
for (const { name, change } of ways)
  test(`a device loses its sessions, its call and its leg when ${name}; another keeps its own`, async () => {
    const present = await comeInto(device);
    const other = await comeInto(bystander);
    await losesAll(present, change);
    await restore();
    assert.equal((await server.api.wake({ device_id: bystander })).status, 202);
    await other.module.nextPacket();
    other.leg.hangup();
    await other.leg.closed;
    await clearDevices(server, [bystander]);
  });

test('a device that is moved to a product of another application keeps its sessions, and its call ends', async () => {
  const { module, controller, leg } = await comeInto(device);
  await importInto(registryWith({ product_id: 'foreign' }));
  assert.equal((await leg.closed).code, 1000);
  await restore();
  assert.equal((await server.api.wake({ device_id: device })).status, 202);
  await module.nextPacket();
  await controller.close();
  await clearDevices(server, [device]);
});

function poll(path: string, query: string, credential: keyof typeof testCredentials): Promise<ApiAnswer> {
  return server.api.call({ path, query, credential: testCredentials[credential] });
}

/** What a reader gets that waits while its credential is changed, and then something happens. */
async function waitThrough(change: () => Promise<unknown>): Promise<ApiAnswer> {
  const { json } = await poll('/v1/events', 'after=latest', 'second');
  const waiting = poll('/v1/events', `after=${String(json.data?.['next'])}&wait=30`, 'second');
  // Taken up behind the one that waits.
  await poll('/v1/events', 'after=latest', 'second');
  await change();
  await (await server.module(device)).close();
  const answer = await waiting;
  await restore();
  return answer;
}

function withCredential(change: object): Entries {
  const credentials = unchanged.credentials.map((entry) =>
    entry['access_key_id'] === testCredentials.second.accessKeyId ? { ...entry, ...change } : entry,
  );
  return { ...unchanged, credentials };
}

const { accessKeyId: access_key_id } = testCredentials.second;
const without = (): Entries => ({
  ...unchanged,
  credentials: unchanged.credentials.filter((entry) => entry['access_key_id'] !== access_key_id),
});
const lost: readonly {
  readonly name: string;
  readonly change: () => Promise<unknown>;
  readonly code: number;
}[] = [
  {
    name: 'was revoked',
    change: () => opsOf(server).change('/v1/credential/revoke', { access_key_id }),
    code: 40105,
  },
  { name: 'is not there any more', change: () => importInto(without(), true), code: 40105 },
  { name: 'has expired', change: () => importInto(withCredential({ not_after: 1 })), code: 40105 },
  {
    name: 'has another secret',
    change: () => importInto(withCredential({ secret_key: 'another one' })),
    code: 40105,
  },
  {
    name: 'lost the permission',
    change: () => importInto(withCredential({ permissions: ['connectivity:read'] })),
    code: 40301,
  },
];
for (const { name, change, code } of lost)
  test(`a reader whose credential ${name} while it waited is told no event, but ${code}`, async () => {
    const answer = await waitThrough(change);
    assert.deepEqual([answer.status, answer.json.code], [code === 40105 ? 401 : 200, code], answer.text);
    if (code === 40105) assert.equal(answer.json['message'], 'unknown or revoked credential');
    assert.equal(answer.json.data, undefined);
  });

test('a reader whose credential holds is told, whatever else has changed', async () => {
  const answer = await waitThrough(() => importInto(registryWith({ expires_at: 4_000_000_000 })));
  assert.equal(answer.json.code, 0, answer.text);
  assert.equal((answer.json.data?.['events'] as unknown[]).length, 1);
});

test('who waits for an outcome with a credential that was revoked meanwhile is not told it', async () => {
  const module = await server.module(device);
  const woken = await server.api.wake({ device_id: device }, { spoil: { 'X-Request-ID': 'the-wakeup' } });
  assert.equal(woken.status, 202);
  const query = 'request_id=the-wakeup&wait=30';
  const waiting = poll('/v1/device/wakeup-request', query, 'second');
  await poll('/v1/device/wakeup-request', 'request_id=the-wakeup', 'second');
  await opsOf(server).change('/v1/credential/revoke', { access_key_id });
  await (await server.controller(device)).close();
  const { status, json, text } = await waiting;
  assert.deepEqual([status, json.code, json.data], [401, 40105, undefined], text);
  await module.close();
});

test('a replayed issuance is answered like the first while the call lives, and never opens another', async () => {
  const signed = {
    ...issuance,
    body: JSON.stringify(callBody({ msg_room_id: 'replayed' })),
    atMs: Date.now(),
  };
  const first = await server.api.call(signed);
  assert.equal(first.json.code, 0, first.text);
  const again = await server.api.call(signed);
  assert.deepEqual(again.json, first.json);
  const leg = await connectDevice(server, String(first.json.data?.['token']));
  assert.deepEqual((await server.api.call(signed)).json, first.json);
  leg.hangup();
  await leg.closed;
  const late = await server.api.call(signed);
  assert.deepEqual([late.status, late.json.code], [200, 40903], late.text);
  assert.match(String(late.json['msg']), /its call has ended: sign a new request/);
  assert.equal(
    (await askCredentials(server, { msg_room_id: 'replayed' })).json.code,
    0,
    'a new one opens one',
  );
});
