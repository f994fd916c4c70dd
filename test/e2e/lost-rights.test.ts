/** Sessions end when their rights are lost, for every way to change the registry, at the real server, over real sockets. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { DeviceLeg } from '../../src/tools/simulator/media-leg.ts';
import type { SignalController } from '../../src/tools/simulator/signal-controller.ts';
import type { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import type { ApiAnswer } from '../support/api-client.ts';
import { connectDevice, issueCall } from '../support/call-actions.ts';
import { clearDevices, opsOf } from '../support/driven-server.ts';
import { startTestServer, testCredentials, type TestServer } from '../support/test-server.ts';

interface Entries {
  devices: Record<string, unknown>[];
}

const device = 'TESTDEVICE01';
/** A device that these tests never change. */
const bystander = 'SLEEPING02';

let server: TestServer;
let unchanged: Entries;
before(async () => {
  server = await startTestServer({ overrides: ['limits.device_logins_per_second=1000'] });
  unchanged = JSON.parse(await readFile(registryFile(), 'utf8')) as Entries;
});
after(() => server.stop());

function registryFile(): string {
  return join(server.dataDirectory, 'registry.json');
}

/** The whole registry with this entry of the device; null: without the device. */
function registryWith(change: object | null): Entries {
  const devices = unchanged.devices.flatMap((entry) =>
    entry['device_id'] !== device ? [entry] : change === null ? [] : [{ ...entry, ...change }],
  );
  return { ...unchanged, devices };
}

async function importInto(entries: object, replace = false): Promise<void> {
  const file = join(server.dataDirectory, 'upload.json');
  await writeFile(file, JSON.stringify(entries));
  await opsOf(server).importFile(file, { replace, dryRun: false, deletions: 'any' });
}

/** The device as at the start. */
function restore(): Promise<unknown> {
  const put = { device_id: device, product_id: 'doorbell', secret: `secret of ${device}` };
  return opsOf(server).change('/v1/device/add', put);
}

interface Present {
  readonly module: SleepingModule;
  readonly controller: SignalController;
  readonly leg: DeviceLeg;
}

async function connectAll(deviceId: string): Promise<Present> {
  const [module, controller] = [await server.module(deviceId), await server.controller(deviceId)];
  const { token } = await issueCall(server, { device_id: deviceId });
  return { module, controller, leg: await connectDevice(server, token) };
}

interface Told {
  readonly events: readonly { readonly type: string; readonly data: Readonly<Record<string, unknown>> }[];
  readonly head: number;
}

/** Events of the device as operators see them, since applications do not see those of a removed device. Null: from the end of the log. */
async function logBehind(after: number | null): Promise<Told> {
  const ask = (behind: object): Promise<Told> =>
    opsOf(server).ask('/v1/events', new URLSearchParams({ device_id: device, ...behind }));
  if (after === null) return ask({ last: '0' });
  for (;;) {
    const told = await ask({ after: String(after), wait: '5' });
    // Skips the event of the change itself, which only changes by operators have.
    const events = told.events.filter(({ type }) => !type.startsWith('device.registry.'));
    if (events.length >= 3) return { ...told, events };
  }
}

let wakeups = 0;

/** Unique, so that it is no repeat of a request in the same second. */
async function wake(deviceId: string): Promise<void> {
  wakeups += 1;
  const custom_data = `0x${String(wakeups).padStart(4, '0')}`;
  assert.equal((await server.api.wake({ device_id: deviceId, custom_data })).status, 202);
}

/** Asserts that all its sessions end, each with an event `kicked`. */
async function losesAll({ module, controller, leg }: Present, change: () => Promise<unknown>): Promise<void> {
  const { head } = await logBehind(null);
  await change();
  assert.deepEqual(await controller.closed, { code: 4401, reason: 'denied' });
  await module.closed;
  assert.equal((await leg.closed).code, 1000);
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
  { name: 'an import with --replace does not have it', change: () => importInto(registryWith(null), true) },
  {
    name: 'the registry file gives it another secret, at SIGHUP',
    change: async () => {
      await writeFile(registryFile(), JSON.stringify(registryWith({ secret: 'another secret of it' })));
      await server.server.reload();
    },
  },
  {
    name: 'an operator removes it',
    change: () => opsOf(server).change('/v1/device/remove', { device_id: device }),
  },
  {
    name: 'an operator gives it another secret',
    change: () => opsOf(server).change('/v1/device/set', { device_id: device, secret: true }),
  },
];
for (const { name, change } of ways)
  test(`a device loses its sessions, its call and its leg when ${name}; another keeps its own`, async () => {
    const present = await connectAll(device);
    const other = await connectAll(bystander);
    await losesAll(present, change);
    await restore();
    await wake(bystander);
    await other.module.nextPacket();
    other.leg.hangup();
    await other.leg.closed;
    await clearDevices(server, [bystander]);
  });

interface CredentialEntry {
  readonly access_key_id: string;
  readonly secret_key: string;
  readonly app_id: string;
}

/** A reader with its own credential and all permissions. */
class Reader {
  readonly entry: CredentialEntry;

  private constructor(entry: CredentialEntry) {
    this.entry = entry;
  }

  static async open(): Promise<Reader> {
    const { appId: app_id } = testCredentials.all;
    const made = await opsOf(server).change('/v1/credential/create', { app_id });
    return new Reader((made as { readonly credential: CredentialEntry }).credential);
  }

  ask(path: string, query: string): Promise<ApiAnswer> {
    const { access_key_id: accessKeyId, secret_key: secretKey, app_id: appId } = this.entry;
    return server.api.call({ path, query, credential: { accessKeyId, secretKey, appId } });
  }

  revoke(): Promise<unknown> {
    return opsOf(server).change('/v1/credential/revoke', { access_key_id: this.entry.access_key_id });
  }

  /** Changes the credential by an import. */
  become(change: object): Promise<void> {
    return importInto({ credentials: [{ ...this.entry, ...change }] });
  }

  /** Answer of a long poll whose credential is changed before an event happens. */
  async waitThrough(change: () => Promise<unknown>): Promise<ApiAnswer> {
    const { json } = await this.ask('/v1/events', 'after=latest');
    const waiting = this.ask('/v1/events', `after=${String(json.data?.['next'])}&wait=30`);
    // Handled after the long poll.
    await this.ask('/v1/events', 'after=latest');
    await change();
    await server.module(device);
    const answer = await waiting;
    await clearDevices(server, [device]);
    return answer;
  }
}

const lost: readonly {
  readonly name: string;
  readonly change: (reader: Reader) => Promise<unknown>;
  readonly code: 40105 | 40301;
}[] = [
  { name: 'was revoked', change: (reader) => reader.revoke(), code: 40105 },
  {
    name: 'lost the permission',
    change: (reader) => reader.become({ permissions: ['connectivity:read'] }),
    code: 40301,
  },
];
for (const { name, change, code } of lost)
  test(`a reader whose credential ${name} during its long poll receives ${code} instead of an event`, async () => {
    const reader = await Reader.open();
    const answer = await reader.waitThrough(() => change(reader));
    assert.deepEqual([answer.status, answer.json.code], [code === 40105 ? 401 : 200, code], answer.text);
    if (code === 40105) assert.equal(answer.json['message'], 'unknown or revoked credential');
    assert.equal(answer.json.data, undefined);
  });

test('a long poll for an outcome does not reveal it after its credential was revoked', async () => {
  const [reader, module] = [await Reader.open(), await server.module(device)];
  const woken = await server.api.wake({ device_id: device }, { spoil: { 'X-Request-ID': 'the-wakeup' } });
  assert.equal(woken.status, 202);
  const waiting = reader.ask('/v1/device/wakeup-request', 'request_id=the-wakeup&wait=30');
  await reader.ask('/v1/device/wakeup-request', 'request_id=the-wakeup');
  await reader.revoke();
  await (await server.controller(device)).close();
  const { status, json, text } = await waiting;
  assert.deepEqual([status, json.code, json.data], [401, 40105, undefined], text);
  await module.close();
});
