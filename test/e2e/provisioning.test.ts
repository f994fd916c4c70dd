/** A backend provisions its devices over the signed API, against the real server over real sockets. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { AuditLine } from '../../src/model/audit.ts';
import type { ApiAnswer, ApiCall } from '../support/api-client.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';

const devicesMax = 60;
let server: TestServer;
before(async () => {
  server = await startTestServer({ overrides: [`limits.devices_max=${devicesMax}`] });
});
after(() => server.stop());

const path = '/v1/devices';

/** Each call is signed for its own second, so that equal calls are no repeats. */
let secondMs = Date.now();
const aSecond = (): number => (secondMs -= 1000);

interface Told {
  readonly device_id: string;
  readonly code: number;
  readonly message: string;
  readonly created?: boolean;
  readonly secret?: string;
}

function add(devices: readonly unknown[], call: ApiCall = {}): Promise<ApiAnswer> {
  return server.api.call({
    method: 'POST',
    path,
    body: JSON.stringify({ devices }),
    atMs: aSecond(),
    ...call,
  });
}

async function addAll(devices: readonly unknown[], call: ApiCall = {}): Promise<readonly Told[]> {
  const answer = await add(devices, call);
  assert.deepEqual([answer.status, answer.json.code], [200, 0], answer.text);
  return answer.json.data?.['devices'] as readonly Told[];
}

async function addOne(device: object): Promise<Told> {
  const [one] = await addAll([device]);
  assert.ok(one);
  return one;
}

function change(body: object, call: ApiCall = {}): Promise<ApiAnswer> {
  return server.api.call({ method: 'PATCH', path, body: JSON.stringify(body), atMs: aSecond(), ...call });
}

function remove(deviceId: string, call: ApiCall = {}): Promise<ApiAnswer> {
  const query = `device_id=${encodeURIComponent(deviceId)}`;
  return server.api.call({ method: 'DELETE', path, query, atMs: aSecond(), ...call });
}

interface Listed {
  readonly devices: readonly { readonly device_id: string }[];
  readonly next: string | null;
}

async function list(query: string, call: ApiCall = {}): Promise<Listed> {
  const answer = await server.api.call({ path, query, ...call });
  assert.deepEqual([answer.status, answer.json.code], [200, 0], answer.text);
  return answer.json.data as unknown as Listed;
}

async function idsOf(query: string): Promise<readonly string[]> {
  return (await list(query)).devices.map(({ device_id: id }) => id);
}

interface RegistryEvent {
  readonly type: string;
  readonly device_id: string;
  readonly seq: number;
  readonly data: object;
}

/** Events of a device in order, once there are `count`. */
async function eventsOf(deviceId: string, count: number): Promise<readonly RegistryEvent[]> {
  const found: RegistryEvent[] = [];
  for (let after = ''; found.length < count;) {
    const query = `limit=1000&wait=30${after === '' ? '' : `&after=${after}`}`;
    const { data } = (await server.api.call({ path: '/v1/events', query })).json;
    const { events, next } = data as unknown as { events: readonly RegistryEvent[]; next: string };
    found.push(...events.filter((event) => event.device_id === deviceId));
    after = next;
  }
  return found;
}

const doorbell = { product_id: 'doorbell' };
const appId = '2818153';

test('an added device logs in with its generated secret, and has one event', async () => {
  const { secret = '', ...added } = await addOne({ device_id: 'NEW-1', ...doorbell, labels: { floor: '2' } });
  assert.deepEqual(added, { device_id: 'NEW-1', code: 0, message: 'success', created: true });
  assert.equal(secret.length, 43);
  const controller = await server.controller('NEW-1', { secret });
  const [first, second] = await eventsOf('NEW-1', 2);
  assert.equal(first?.type, 'device.registry.added');
  assert.deepEqual([first.seq, first.data], [1, { product_id: 'doorbell', by: appId }]);
  assert.equal(second?.type, 'device.signal.online');
  await controller.close();
});

test('a repeated entry has no secret and no event; a different one for the device is 40904', async () => {
  const entry = {
    device_id: 'SAME-1',
    ...doorbell,
    secret: 'a secret that is given',
    labels: { b: '1', a: '' },
  };
  const first = await addOne(entry);
  assert.deepEqual(first, { device_id: 'SAME-1', code: 0, message: 'success', created: true });
  const again = { ...entry, labels: { a: '', b: '1' } };
  for (const same of [again, { device_id: 'SAME-1', ...doorbell, labels: entry.labels }])
    assert.deepEqual(await addOne(same), { ...first, created: false });
  const others = [
    { secret: 'another secret of the device' },
    { labels: {} },
    { expires_at: 2_000_000_000 },
    { disabled: true },
  ];
  for (const other of others) assert.equal((await addOne({ ...entry, ...other })).code, 40904);
  await remove('SAME-1');
  const events = await eventsOf('SAME-1', 2);
  assert.deepEqual(
    events.map(({ type }) => type),
    ['device.registry.added', 'device.registry.removed'],
  );
});

test('each entry has its own code, and valid ones are added', async () => {
  const answers = await addAll([
    { device_id: 'EACH-1', ...doorbell },
    { device_id: 'EACH-2', product_id: 'foreign' },
    { device_id: 'EACH-3', product_id: 'nobody has it' },
    { device_id: 'FOREIGN01', ...doorbell },
    { device_id: 'EACH-4', ...doorbell, secret: 'short' },
    'no object',
    { device_id: 'x'.repeat(256), ...doorbell },
    { device_id: 'EACH-1', ...doorbell, disabled: true },
    { device_id: 'EACH-1', ...doorbell },
  ]);
  assert.deepEqual(
    answers.map(({ device_id: id, code }) => [id, code]),
    [
      ['EACH-1', 0],
      ['EACH-2', 40302],
      ['EACH-3', 40302],
      ['FOREIGN01', 40302],
      ['EACH-4', 40003],
      [null, 40003],
      [null, 40003],
      ['EACH-1', 40904],
      ['EACH-1', 0],
    ],
  );
  assert.equal(answers[4]?.message, 'secret must have 16 characters or more');
  assert.equal(answers.at(-1)?.created, false);
  assert.deepEqual(await idsOf('prefix=EACH-'), ['EACH-1']);
});

test('a listing is paged in the order of ids, by product, prefix and labels, and shows no secret', async () => {
  const ids = ['PAGE-a', 'PAGE-b', 'PAGE-\u00e9', 'PAGE-\ud83d\ude00'];
  await addAll(ids.map((device_id) => ({ device_id, ...doorbell, labels: { of: device_id } })));
  const seen: string[] = [];
  let next: string | null = '';
  while (next !== null) {
    const page: Listed = await list(`prefix=PAGE-&limit=1${next === '' ? '' : `&after=${next}`}`);
    seen.push(...page.devices.map(({ device_id: id }) => id));
    next = page.next;
    // A page after a removed entry continues at its position.
    if (seen.at(-1) === 'PAGE-a') await remove('PAGE-a');
  }
  assert.deepEqual(seen, ids);
  const [entry] = (await list('prefix=PAGE-b')).devices;
  assert.deepEqual(entry, {
    device_id: 'PAGE-b',
    product_id: 'doorbell',
    expires_at: null,
    disabled: false,
    labels: { of: 'PAGE-b' },
  });
  const all = await idsOf('limit=500');
  assert.ok(all.includes('DISABLED01') && all.includes('EXPIRED01') && !all.includes('FOREIGN01'));
  assert.deepEqual(await idsOf('product_id=doorbell&limit=500'), all);
  const foreign = await server.api.call({ path, query: 'product_id=foreign' });
  assert.deepEqual([foreign.status, foreign.json.code], [403, 40302]);
});

test('a listing distinguishes online devices', async () => {
  const { secret = '' } = await addOne({ device_id: 'ON-1', ...doorbell });
  await addOne({ device_id: 'ON-2', ...doorbell });
  const controller = await server.controller('ON-1', { secret });
  assert.deepEqual(await idsOf('prefix=ON-&online=true'), ['ON-1']);
  assert.deepEqual(await idsOf('prefix=ON-&online=false'), ['ON-2']);
  await controller.close();
});

test('only the given fields of a device change, and its labels are merged', async () => {
  await addOne({ device_id: 'TERMS', ...doorbell, labels: { floor: '2', room: 'a' } });
  const labels = { room: null, colour: 'red' };
  const changed = await change({ device_id: 'TERMS', expires_at: 2_000_000_000, labels });
  const now = {
    device_id: 'TERMS',
    product_id: 'doorbell',
    expires_at: 2_000_000_000,
    disabled: false,
    labels: { colour: 'red', floor: '2' },
  };
  assert.deepEqual(changed.json.data, now);
  assert.deepEqual((await change({ device_id: 'TERMS' })).json.data, now);
  const disabled = await change({ device_id: 'TERMS', disabled: true, expires_at: null });
  assert.deepEqual(disabled.json.data, { ...now, disabled: true, expires_at: null });
  const many = Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`label-${at}`, '']));
  const tooMany = await change({ device_id: 'TERMS', labels: many });
  assert.deepEqual([tooMany.status, tooMany.json.code], [400, 40003]);
  const events = await eventsOf('TERMS', 3);
  assert.deepEqual(
    events.map(({ data }) => (data as { changed?: readonly string[] }).changed),
    [undefined, ['expires_at', 'labels'], ['expires_at', 'disabled']],
  );
});

test('an expiry in milliseconds is refused for added and changed devices', async () => {
  const reason = /^expires_at must be at most 253402300799.* not milliseconds$/;
  const devices = [{ device_id: 'MILLIS', ...doorbell, expires_at: 1_795_163_400_000 }];
  const added = await server.api.call({ method: 'POST', path, body: JSON.stringify({ devices }) });
  const [entry] = (added.json.data?.['devices'] ?? []) as readonly { code: number; message: string }[];
  assert.equal(entry?.code, 40003);
  assert.match(entry.message, reason);
  await addOne({ device_id: 'MILLIS', ...doorbell, expires_at: 253_402_300_799 });
  const { status, json } = await change({ device_id: 'MILLIS', expires_at: 253_402_300_800 });
  assert.deepEqual([status, json.code], [400, 40003]);
  assert.match(String(json['message']), reason);
});

test('a new secret is shown once, and ends the session of the old one', async () => {
  const { secret = '' } = await addOne({ device_id: 'ROTATED', ...doorbell });
  const controller = await server.controller('ROTATED', { secret });
  const rotated = await change({ device_id: 'ROTATED', secret: true });
  const fresh = rotated.json.data?.['secret'];
  assert.ok(typeof fresh === 'string' && fresh !== secret);
  await controller.closed;
  const later = await server.controller('ROTATED', { secret: fresh });
  const given = await change({ device_id: 'ROTATED', secret: 'one that the backend has made' });
  assert.equal('secret' in (given.json.data ?? {}), false);
  await later.closed;
});

test('the session of a removed device ends, and the device is unknown', async () => {
  const { secret = '' } = await addOne({ device_id: 'GONE', ...doorbell });
  const controller = await server.controller('GONE', { secret });
  const gone = await remove('GONE');
  assert.deepEqual([gone.status, gone.json.data], [200, { device_id: 'GONE', removed: true }]);
  await controller.closed;
  assert.equal((await server.api.connectivity('GONE')).json.code, 40403);
  assert.equal((await remove('GONE')).json.code, 40403);
});

test('a repeated signature has no second effect, and its answer has no secret', async () => {
  const atMs = Date.now();
  const body = JSON.stringify({ devices: [{ device_id: 'REPEAT', ...doorbell }] });
  const adding: ApiCall = { method: 'POST', path, body, atMs };
  const added = await server.api.call(adding);
  assert.match(added.text, /"secret"/);
  const rotating: ApiCall = { method: 'PATCH', path, body: '{"device_id":"REPEAT","secret":true}', atMs };
  assert.match((await server.api.call(rotating)).text, /"secret"/);
  const rotated = await server.api.call(rotating);
  assert.equal(rotated.json.code, 0);
  assert.doesNotMatch(rotated.text, /"secret"/);
  const removing: ApiCall = { method: 'DELETE', path, query: 'device_id=REPEAT', atMs };
  assert.equal((await server.api.call(removing)).json.code, 0);
  const repeated = await server.api.call(adding);
  assert.match(repeated.text, /"code":40403/);
  assert.deepEqual(await idsOf('prefix=REPEAT'), []);
  assert.equal((await server.api.call(removing)).json.code, 0);
  const events = await eventsOf('REPEAT', 3);
  assert.equal(events.length, 3);
});

test('each change has one line in the audit log with its application and without secrets; no change has no line', async () => {
  const entry = { device_id: 'AUDITED', ...doorbell, secret: 'this must not be in any log' };
  await addOne(entry);
  await addOne(entry);
  await change({ device_id: 'AUDITED' });
  await change({ device_id: 'AUDITED', disabled: true });
  await remove('AUDITED');
  await remove('AUDITED');
  const text = readFileSync(join(server.dataDirectory, 'audit.log'), 'utf8');
  const lines = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as AuditLine)
    .filter(({ ids }) => JSON.stringify(ids).includes('AUDITED'));
  assert.deepEqual(
    lines.map(({ action }) => action),
    ['device.add', 'device.change', 'device.remove'],
  );
  const { at, ids, ...first } = lines[0] ?? {};
  assert.ok(at !== undefined);
  const { accessKeyId } = server.credentials.all;
  assert.deepEqual(first, {
    operator: 'api',
    role: null,
    from: '127.0.0.1',
    action: 'device.add',
    result: 'ok',
  });
  assert.deepEqual(ids, {
    app_id: appId,
    access_key_id: accessKeyId,
    device_ids: ['AUDITED'],
    counts: { changed: 1, refused: 0 },
  });
  assert.doesNotMatch(text + JSON.stringify(server.log), /this must not be in any log/);
});

test('an application has at most devices_max devices, and further ones are refused with the reason', async () => {
  const own = (await idsOf('limit=500')).length;
  const news = Array.from({ length: devicesMax + 1 - own }, (_, i) => ({
    device_id: `SQUAT-${i}`,
    ...doorbell,
  }));
  const answers = await addAll(news);
  assert.deepEqual(
    answers.map(({ code }) => code),
    [...Array.from({ length: devicesMax - own }, () => 0), 42901],
  );
  assert.equal(answers.at(-1)?.message, 'the application has reached its maximum of devices');
  await remove('SQUAT-0');
  assert.equal((await addOne(news.at(-1) ?? {})).code, 0);
});
