/** Whatever node is asked, all are one server: devices, wakeups, messages, calls, registry and the log. Source: cluster.md. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { after, test } from 'node:test';
import type { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import { encodeCursor } from '../support/event-cursors.ts';
import type { ApiAnswer, ApiClient } from '../support/api-client.ts';
import { callBody, callEnd, callStatus, issuance } from '../support/call-actions.ts';
import { runCli, type CliResult } from '../support/cli-process.ts';
import { ClusterSite } from '../support/cluster-site.ts';
import type { PublishedEvent } from '../support/event-log-check.ts';
import { EventReader, readEvents } from '../support/event-reader.ts';
import { hangMsMax } from '../support/hang-limit.ts';
import { startNats } from '../support/nats-server.ts';
import {
  deviceEntry,
  hasCode,
  isAsleep,
  isOnline,
  siteAppId,
  siteDevice,
  until,
  wake,
} from '../support/site-server.ts';
import { lastFirst, temporaryDirectory } from '../support/temporary-store.ts';

const ending = lastFirst({ after });
const nats = await startNats(ending);
const cluster = await ClusterSite.start(ending, { nats: [nats], nodes: ['a', 'b'] });
const [a, b] = [cluster.node(0), cluster.node(1)];

/** Devices sleep at one and are awake at the other. */
const site = {
  registryFile: cluster.registryFile,
  everywhere: () => [a.api, b.api],
  module: (number: number) => b.module(number),
  controller: (number: number) => a.controller(number),
  cli: (...command: readonly string[]) => a.cli(...command),
};

const wakeupPath = '/v1/device/wakeup-request';
const ofDevice =
  (device: number) =>
  ({ device_id: deviceId }: PublishedEvent): boolean =>
    deviceId === siteDevice(device);

function sessionOf({ json }: ApiAnswer): string {
  const { peer_id: peerId } = json.data as { readonly peer_id: string };
  return new URL(peerId).searchParams.get('x_session') ?? '';
}

/** The first of those that the tests below have for themselves. */
let device = 50;
const aDevice = (): number => (device += 1);
const disabled = aDevice();

const post = (api: ApiClient, path: string, body: object, atMs = Date.now()): Promise<ApiAnswer> =>
  api.call({ method: 'POST', path, body: JSON.stringify(body), atMs });

const all = <Answer>(ask: (api: ApiClient) => Promise<Answer>): Promise<Answer[]> =>
  Promise.all(site.everywhere().map(ask));

/** Every member comes to answer so. */
const allCome = (
  ask: (api: ApiClient) => Promise<ApiAnswer>,
  isWanted: (answer: ApiAnswer) => boolean,
): Promise<unknown> => all((api) => until(() => ask(api), isWanted));

/** Every member knows of its login. */
async function asleep(number: number): Promise<SleepingModule> {
  const module = await site.module(number);
  await allCome((api) => api.connectivity(siteDevice(number)), isAsleep);
  return module;
}

/** The packet with this in it is the next one that its module gets. */
async function isWokenNext(module: SleepingModule, number: number, data: string): Promise<void> {
  const [api] = site.everywhere();
  const woken = await api?.wake({ device_id: siteDevice(number), custom_data: `0x${data}` });
  assert.equal(woken?.status, 202, woken?.text);
  assert.equal((await module.nextPacket()).toString('hex'), `983b16f8f39c${data}`);
}

const say = (api: ApiClient, number: number, count: number, atMs?: number): Promise<ApiAnswer> =>
  post(
    api,
    '/v1/device/message',
    { device_id: siteDevice(number), name: 'msga_join_voip_room', payload: { count } },
    atMs,
  );

test('any one answers for any device, and wakes it', async () => {
  const [sleeping, awake] = [aDevice(), aDevice()];
  const module = await asleep(sleeping);
  for (const [count, api] of site.everywhere().entries()) {
    assert.equal((await api.connectivity(siteDevice(sleeping))).json.code, 0);
    const data = count.toString(16).padStart(4, '0');
    const woken = await api.wake({ device_id: siteDevice(sleeping), custom_data: `0x${data}` });
    assert.deepEqual([woken.status, woken.json.code], [202, 0], woken.text);
    assert.equal((await module.nextPacket()).toString('hex'), `983b16f8f39c${data}`);
  }
  const codes = await all(async (api) => (await api.wake({ device_id: siteDevice(awake) })).json.code);
  assert.deepEqual(new Set(codes), new Set([40412]));
});

test('any one answers a batch as it answers each of its devices', async () => {
  const [sleeping, online, neither] = [aDevice(), aDevice(), aDevice()];
  const module = await asleep(sleeping);
  const controller = await site.controller(online);
  await allCome((api) => api.connectivity(siteDevice(online)), isOnline);
  const ids = [online, sleeping, neither, sleeping].map(siteDevice).concat('NOBODY');
  for (const api of site.everywhere()) {
    const { status, json, text } = await post(api, '/v1/devices/connectivity', { device_ids: ids });
    assert.deepEqual([status, json.code], [200, 0], text);
    const { devices } = json.data as { readonly devices: readonly { device_id: string }[] };
    for (const [place, { device_id: id, ...envelope }] of devices.entries()) {
      assert.equal(id, ids[place]);
      assert.deepEqual(envelope, (await api.connectivity(id)).json);
    }
  }
  await controller.close();
  await module.close();
});

test('each knows when a controller is there and when it is gone, and that is told once', async () => {
  const number = aDevice();
  const [api] = site.everywhere();
  const reader = await EventReader.fromNow(api ?? assert.fail());
  const controller = await site.controller(number);
  await allCome((asked) => asked.connectivity(siteDevice(number)), isOnline);
  await controller.close();
  await allCome(
    (asked) => asked.connectivity(siteDevice(number)),
    (answer) => !isOnline(answer),
  );
  const isOurs = ofDevice(number);
  const told = await reader.until((event) => isOurs(event) && event.type === 'device.signal.offline');
  assert.deepEqual(
    [...told, ...(await reader.rest())].filter(isOurs).map(({ type, seq }) => [type, seq]),
    [
      ['device.signal.online', 1],
      ['device.signal.offline', 2],
    ],
  );
});

test('any one brings a message to a controller, wherever it is', async () => {
  const number = aDevice();
  const controller = await site.controller(number);
  for (const [count, api] of site.everywhere().entries()) {
    const said = await say(api, number, count);
    assert.deepEqual([said.status, said.json.code], [200, 0], said.text);
    assert.deepEqual((await controller.nextMessage()).payload, { count });
  }
  await controller.bye('asleep');
});

test('a message wakes its device, wherever that sleeps and signs in, and is sent once', async () => {
  const number = aDevice();
  const module = await asleep(number);
  const body = { device_id: siteDevice(number), name: 'join', payload: {}, wake: true, wait: 20 };
  const atMs = Date.now();
  const answers = all((api) => post(api, '/v1/device/message', body, atMs));
  assert.equal((await module.nextPacket()).length, 8);
  const controller = await site.controller(number);
  const answered = await answers;
  const receipts = answered.map(({ status, json: { code, data } }) =>
    [status, code, data?.['id'], data?.['acknowledged_at']].join(' '),
  );
  assert.match(receipts[0] ?? '', /^200 0 /);
  assert.equal(new Set(receipts).size, 1, receipts.join('\n'));
  // One that was read when the device had signed in already did not see it asleep.
  const woken = answered.find(({ json }) => json.data?.['wakeup'] !== null);
  const wakeup = woken?.json.data?.['wakeup'] as Record<string, unknown>;
  assert.equal(wakeup['status'], 'completed');
  const asked = await all((api) =>
    api.call({ path: wakeupPath, query: `request_id=${String(wakeup['request_id'])}` }),
  );
  for (const { json, text } of asked) assert.equal(json.data?.['status'], 'completed', text);
  const [api] = site.everywhere();
  await say(api ?? assert.fail(), number, 2);
  const names = [await controller.nextMessage(), await controller.nextMessage()].map((one) => one.name);
  assert.deepEqual(names, ['join', 'msga_join_voip_room']);
  await controller.bye('asleep');
});

test('one is told a message that another has brought, and brings it no second time', async () => {
  const number = aDevice();
  const controller = await site.controller(number);
  const atMs = Date.now();
  const answers = [];
  for (const api of site.everywhere()) answers.push(await say(api, number, 1, atMs));
  for (const { status, json, text } of answers)
    assert.deepEqual([status, json.data], [200, answers[0]?.json.data], text);
  const [last] = site.everywhere();
  await say(last ?? assert.fail(), number, 2);
  const payloads = [await controller.nextMessage(), await controller.nextMessage()];
  assert.deepEqual(
    payloads.map(({ payload }) => payload),
    [{ count: 1 }, { count: 2 }],
  );
  await controller.bye('asleep');
});

test('an operator finds a wakeup that any of them has refused, and one that any has sent', async () => {
  const number = aDevice();
  for (const [place, api] of site.everywhere().entries()) {
    const id = `refused-at-${number}-${place}`;
    const refused = await api.wake({ device_id: siteDevice(number) }, { spoil: { 'X-Request-ID': id } });
    assert.equal(refused.status, 404, refused.text);
    assert.match(await site.cli('wakeups', id), /40412 +device is not connected/);
  }
  const module = await asleep(number);
  const [api = assert.fail()] = site.everywhere();
  const spoil = { 'X-Request-ID': `sent-${number}` };
  assert.equal((await api.wake({ device_id: siteDevice(number) }, { spoil })).status, 202);
  assert.match(await site.cli('wakeups', `sent-${number}`), /accepted .*98 3b 16 f8 f3 9c 00 00/);
  await module.close();
});

test('all write one packet for one signed request, repeated at each of them', async () => {
  const number = aDevice();
  const module = await asleep(number);
  const atMs = Date.now();
  const ask = (api: ApiClient): Promise<ApiAnswer> => api.wake({ device_id: siteDevice(number) }, { atMs });
  const [first] = site.everywhere();
  const accepted = await ask(first ?? assert.fail());
  assert.equal(accepted.status, 202, accepted.text);
  for (const { status, json, text } of await all(ask))
    assert.deepEqual([status, json.data], [202, accepted.json.data], text);
  assert.equal((await module.nextPacket()).length, 8);
  await isWokenNext(module, number, 'ffff');
});

test('each waits for the outcome of a wakeup that another has sent', async () => {
  const number = aDevice();
  const module = await asleep(number);
  const id = `one-request-of-all-${number}`;
  const [api] = site.everywhere();
  const woken = await api?.wake({ device_id: siteDevice(number) }, { spoil: { 'X-Request-ID': id } });
  assert.equal(woken?.status, 202, woken?.text);
  await module.nextPacket();
  const asked = all((waiting) => waiting.call({ path: wakeupPath, query: `request_id=${id}&wait=20` }));
  await wait(100);
  const controller = await site.controller(number);
  for (const { json, text } of await asked) assert.equal(json.data?.['status'], 'completed', text);
  await controller.bye('asleep');
});

test('a cursor of one goes on at any other, without loss or repeat, and one that nobody gave is truncated', async () => {
  const number = aDevice();
  const [first = assert.fail(), ...others] = site.everywhere();
  const isOurs = ofDevice(number);
  const reader = await EventReader.fromNow(first);
  const controller = await site.controller(number);
  await reader.until(isOurs);
  const { next } = await readEvents(first, 'latest', 1);
  await controller.close();
  const module = await site.module(number);
  const isLast = (event: PublishedEvent): boolean => isOurs(event) && event.type === 'device.sleep.login';
  const rest = (await reader.until(isLast)).filter(isOurs);
  // The end at one member and the login at another: which is first in the log, nobody says.
  assert.ok(rest.length <= 2);
  for (const api of others)
    assert.deepEqual((await new EventReader(api, next).until(isLast)).filter(isOurs), rest);
  for (let count = 0; count < 10; count += 1) {
    const { next: newest } = await readEvents(first, 'latest', 1);
    // A truncated page is an error.
    await Promise.all(others.map((api) => readEvents(api, newest, 1)));
  }
  const query = `after=${encodeCursor(1_000_000)}&wait=0`;
  for (const { json, text } of await all((api) => api.call({ path: '/v1/events', query })))
    assert.equal(json.data?.['truncated'], true, text);
  await module.close();
});

test('credentials that are asked for at all of them, at once or again, are of one call', async () => {
  const number = aDevice();
  const ask = (api: ApiClient): Promise<ApiAnswer> =>
    post(api, issuance.path, callBody({ device_id: siteDevice(number) }));
  const answers = [...(await all(ask)), ...(await all(ask))];
  for (const { json, text } of answers) assert.equal(json.code, 0, text);
  assert.equal(new Set(answers.map(sessionOf)).size, 1);
  const query = `device_id=${siteDevice(number)}`;
  const statuses = await all((api) => api.call({ ...callStatus, query }));
  assert.deepEqual(new Set(statuses.map(({ json }) => json.data?.['in_call'])), new Set([false]));
});

test('a replayed issuance is answered like the first by all, and opens no call at any once it has ended', async () => {
  const body = callBody({ device_id: siteDevice(aDevice()) });
  const signed = { ...issuance, body: JSON.stringify(body), atMs: Date.now() };
  const [first, ...more] = await all((api) => api.call(signed));
  assert.equal(first?.json.code, 0, first?.text);
  for (const { json } of more) assert.deepEqual(json, first?.json);
  const session = first === undefined ? '' : sessionOf(first);
  const [api = assert.fail()] = site.everywhere();
  await post(api, callEnd.path, { device_id: body['device_id'], session });
  for (const { json, text } of await all((one) => one.call(signed))) assert.equal(json.code, 40903, text);
  const next = await post(api, issuance.path, { ...body, msg_payload: 'signed again' });
  assert.equal(next.json.code, 0, next.text);
  assert.notEqual(sessionOf(next), session);
});

test('any one ends a call, and all tell how it ended', async () => {
  const deviceId = siteDevice(aDevice());
  for (const [index, api] of site.everywhere().entries()) {
    const room = { device_id: deviceId, msg_room_id: `end-${index}` };
    const other = site.everywhere().at(-1 - index) ?? assert.fail();
    const session = sessionOf(await post(other, issuance.path, callBody(room)));
    const first = await post(api, callEnd.path, { ...room, reason: 'rejected' });
    assert.deepEqual(
      [first.json.data?.['session'], first.json.data?.['reason']],
      [session, 'rejected'],
      first.text,
    );
    for (const call of [{ session }, { msg_room_id: room.msg_room_id, again: true }])
      for (const { json, text } of await all((one) =>
        post(one, callEnd.path, { device_id: deviceId, ...call }),
      ))
        assert.deepEqual(json.data, first.json.data, text);
    const unknown = await post(api, callEnd.path, { device_id: deviceId, session: 'no-such-session' });
    assert.equal(unknown.json.code, 40414, unknown.text);
  }
});

test("a replayed end is answered like the first by all, and leaves the room's next call alone", async () => {
  const body = callBody({ device_id: siteDevice(aDevice()) });
  const { device_id, msg_room_id } = body;
  const [api = assert.fail()] = site.everywhere();
  const session = sessionOf(await post(api, issuance.path, body));
  const signed = { ...callEnd, body: JSON.stringify({ device_id, msg_room_id }), atMs: Date.now() };
  const first = await api.call(signed);
  assert.equal(first.json.data?.['session'], session, first.text);
  const next = sessionOf(await post(api, issuance.path, { ...body, msg_payload: 'signed again' }));
  for (const { json } of await all((one) => one.call(signed))) assert.deepEqual(json, first.json);
  const ended = await post(api, callEnd.path, { device_id, session: next, reason: 'rejected' });
  assert.equal(ended.json.data?.['reason'], 'rejected', ended.text);
});

test('a controller anywhere turns down a call that any one keeps', async () => {
  const number = aDevice();
  const deviceId = siteDevice(number);
  for (const [index, api] of site.everywhere().entries()) {
    const controller = await site.controller(number);
    const room = { device_id: deviceId, msg_room_id: `reject-${index}` };
    const session = sessionOf(await post(api, issuance.path, callBody(room)));
    const reader = await EventReader.fromNow(api);
    controller.rejectCall(session, 'busy');
    const events = await reader.until(
      ({ type, data }) => type === 'call.ended' && data['session'] === session,
    );
    assert.equal(events.at(-1)?.data['reason'], 'busy');
    await controller.close();
  }
});

test('a credential that is revoked is refused by all, soon', async () => {
  const made = JSON.parse(await site.cli('credential', 'create', '--app', siteAppId, '--json')) as {
    access_key_id: string;
    secret_key: string;
  };
  const { access_key_id: accessKeyId, secret_key: secretKey } = made;
  const credential = { appId: siteAppId, accessKeyId, secretKey };
  const ask = (api: ApiClient): Promise<ApiAnswer> => api.connectivity(siteDevice(device), { credential });
  await allCome(ask, hasCode(0));
  await site.cli('credential', 'revoke', accessKeyId);
  await allCome(ask, hasCode(40105));
});

test('a device that is disabled is refused by all, and its sessions end', async () => {
  const [module, controller] = [await asleep(disabled), await site.controller(disabled)];
  await site.cli('device', 'disable', siteDevice(disabled));
  await module.closed;
  assert.equal((await controller.closed).code, 4401);
  await allCome((api) => api.connectivity(siteDevice(disabled)), hasCode(40403));
  for (let count = 0; count < 8; count += 1) {
    await assert.rejects(site.module(disabled), /refused/);
    await assert.rejects(site.controller(disabled));
  }
});

test('devices whose secrets are changed lose what they have anywhere, and others keep it', async (t) => {
  const numbers = Array.from({ length: 6 }, aDevice);
  const other = aDevice();
  const modules = await Promise.all(numbers.map((number) => site.module(number)));
  const controllers = await Promise.all(numbers.map((number) => site.controller(number)));
  const untouched = await asleep(other);
  const file = join(temporaryDirectory(t), 'secrets.json');
  const devices = numbers.map((number) => deviceEntry(siteDevice(number), 'another secret of it'));
  await writeFile(file, JSON.stringify({ devices }));
  await site.cli('registry', 'import', file);
  for (const { closed } of modules) await closed;
  for (const { closed } of controllers) assert.equal((await closed).code, 4401);
  await assert.rejects(site.module(numbers[0] ?? 0));
  await isWokenNext(untouched, other, '0001');
});

test('what replaces the registry is what all serve: who is not in it goes, the others stay', async (t) => {
  const [gone, stays] = [aDevice(), aDevice()];
  const [lost, kept] = [await asleep(gone), await asleep(stays)];
  const file = join(temporaryDirectory(t), 'less.json');
  const registry = JSON.parse(await readFile(site.registryFile, 'utf8')) as {
    devices: { device_id: string }[];
  };
  const devices = registry.devices.filter(({ device_id }) => device_id !== siteDevice(gone));
  await writeFile(file, JSON.stringify({ ...registry, devices }));
  await site.cli('registry', 'import', '--replace', '--yes', file);
  await lost.closed;
  await allCome((api) => api.connectivity(siteDevice(gone)), hasCode(40403));
  // It was disabled before, and is not in the file.
  await allCome((api) => api.connectivity(siteDevice(disabled)), hasCode(0));
  await isWokenNext(kept, stays, '0001');
});

const devicesPath = '/v1/devices';

test('a device is added, changed and removed by any, read at once there and soon by all, and each change is one event', async () => {
  for (const [count, api] of site.everywhere().slice(0, 4).entries()) {
    const id = `PROVISIONED-${count}`;
    const reader = await EventReader.fromNow(api);
    const entry = { device_id: id, product_id: 'doorbell', labels: { count: String(count) } };
    const added = await post(api, devicesPath, { devices: [entry] });
    assert.match(added.text, /"created":true,"secret":/);
    const listed = await api.call({ path: devicesPath, query: `prefix=${id}&online=false` });
    assert.match(listed.text, new RegExp(`"device_id":"${id}"`));
    assert.match((await post(api, devicesPath, { devices: [entry] })).text, /"created":false/);
    await allCome((asked) => asked.connectivity(id), hasCode(0));
    const changed = await api.call({
      method: 'PATCH',
      path: devicesPath,
      body: JSON.stringify({ device_id: id, disabled: true }),
    });
    assert.equal(changed.json.data?.['disabled'], true, changed.text);
    await allCome((asked) => asked.connectivity(id), hasCode(40403));
    const removed = await api.call({ method: 'DELETE', path: devicesPath, query: `device_id=${id}` });
    assert.deepEqual([removed.status, removed.json.code], [200, 0], removed.text);
    const isOwn = (event: PublishedEvent): boolean => event.device_id === id;
    const told = await reader.until((event) => isOwn(event) && event.type === 'device.registry.removed');
    assert.deepEqual(
      told.filter(isOwn).map(({ type, seq }) => [type, seq]),
      [
        ['device.registry.added', 1],
        ['device.registry.changed', 2],
        ['device.registry.removed', 3],
      ],
    );
  }
});

test('those that are online are told from the others, wherever they are', async () => {
  const [online, other] = [aDevice(), aDevice()];
  const controller = await site.controller(online);
  await allCome((api) => api.connectivity(siteDevice(online)), isOnline);
  for (const api of site.everywhere()) {
    const { text } = await api.call({ path: devicesPath, query: 'online=true&limit=500' });
    assert.match(text, new RegExp(`"${siteDevice(online)}"`));
    assert.doesNotMatch(text, new RegExp(`"${siteDevice(other)}"`));
  }
  await controller.close();
});

test('a device is shown and kicked, wherever it is', async () => {
  for (const number of [aDevice(), aDevice()]) {
    const module = await asleep(number);
    assert.match(await site.cli('status', siteDevice(number)), /open|asleep|sleep/);
    await site.cli('device', 'kick', siteDevice(number));
    await module.closed;
  }
});

test('5 000 devices that are imported at one node are served by the other, and by one that starts later', async (t) => {
  const file = join(temporaryDirectory(t), 'more.json');
  const devices = Array.from({ length: 5000 }, (_, number) => deviceEntry(`IMPORTED${number}`));
  await writeFile(file, JSON.stringify({ devices }));
  await a.cli('registry', 'import', file);
  const tookMs = await until(() => b.api.connectivity('IMPORTED4999'), hasCode(0));
  t.diagnostic(`there after ${Math.round(tookMs)} ms`);
  const late = await cluster.add('late');
  assert.equal((await late.api.connectivity('IMPORTED4999')).json.code, 0);
  const module = await late.module('IMPORTED17');
  await until(() => wake(a.api, 'IMPORTED17'), hasCode(0));
  assert.equal((await module.nextPacket()).length, 8);
  assert.equal(await late.stop(), 0);
});

test('the command line shows the nodes, fails while one is not up, and forgets a lost one that is failed over', async (t) => {
  const status = (): Promise<CliResult> => runCli(['cluster', 'status', '--data-dir', a.directory]);
  const lost = await cluster.add('lost');
  const shown = await status();
  assert.equal(shown.exitCode, 0, shown.stdout);
  assert.match(shown.stdout, /^lost +up /m);
  // Its end takes a while: it has somebody to send away.
  const controller = await lost.controller(siteDevice(1));
  await lost.kill();
  await controller.closed;
  const endMs = performance.now() + hangMsMax;
  for (let last = shown; /^lost /m.test(last.stdout); last = await status()) {
    if (last.exitCode === 1) t.diagnostic(last.stdout);
    assert.ok(performance.now() < endMs, last.stdout);
  }
  await until(
    () => a.api.connectivity(siteDevice(1)),
    (answer) => hasCode(0)(answer) && !isOnline(answer),
  );
});

test('a change that is made while NATS is away is shared when it is back', async () => {
  const deviceId = siteDevice(2);
  const module = await b.module(deviceId);
  await nats.kill();
  await a.cli('device', 'disable', deviceId);
  await nats.start();
  await module.closed;
  await until(() => b.api.connectivity(deviceId), hasCode(40403));
});
