/**
 * What several processes, or several nodes, keep to: they are one server, whoever is asked. Every test has devices of its
 * own. Source: cluster.md.
 */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { test } from 'node:test';
import type { SignalController } from '../../src/tools/simulator/signal-controller.ts';
import type { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import { encodeCursor } from '../support/event-cursors.ts';
import type { ApiAnswer, ApiClient } from '../support/api-client.ts';
import { callBody, callEnd, callStatus, issuance } from '../support/call-actions.ts';
import { readEvents } from '../support/crash-load.ts';
import type { ToldEvent } from '../support/event-log-check.ts';
import { EventReader } from '../support/event-reader.ts';
import {
  deviceEntry,
  hasCode,
  isAsleep,
  isOnline,
  siteAppId,
  siteDevice,
  until,
} from '../support/site-server.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';

interface OneServer {
  readonly registryFile: string;
  /** Clients that between them ask every member. */
  everywhere(): readonly ApiClient[];
  module(device: number): Promise<SleepingModule>;
  controller(device: number): Promise<SignalController>;
  /** At one of the members; fails unless the exit code is 0. */
  cli(...command: readonly string[]): Promise<string>;
}

const wakeupPath = '/v1/device/wakeup-request';
const ofDevice =
  (device: number) =>
  ({ device_id: deviceId }: ToldEvent): boolean =>
    deviceId === siteDevice(device);

function sessionOf({ json }: ApiAnswer): string {
  const { peer_id: peerId } = json.data as { readonly peer_id: string };
  return new URL(peerId).searchParams.get('x_session') ?? '';
}

/** `device`: the first of a hundred that are its own. */
export function oneServerSuite(name: string, site: OneServer, device: number): void {
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

  test(`${name}: any one answers for any device, and wakes it`, async () => {
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

  test(`${name}: any one answers a batch as it answers each of its devices`, async () => {
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

  test(`${name}: each knows when a controller is there and when it is gone, and that is told once`, async () => {
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

  test(`${name}: any one brings a message to a controller, wherever it is`, async () => {
    const number = aDevice();
    const controller = await site.controller(number);
    for (const [count, api] of site.everywhere().entries()) {
      const said = await say(api, number, count);
      assert.deepEqual([said.status, said.json.code], [200, 0], said.text);
      assert.deepEqual((await controller.nextMessage()).payload, { count });
    }
    await controller.bye('asleep');
  });

  test(`${name}: a message wakes its device, wherever that sleeps and signs in, and is sent once`, async () => {
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

  test(`${name}: one is told a message that another has brought, and brings it no second time`, async () => {
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

  test(`${name}: all write one packet for one signature, asked of them at once`, async () => {
    const number = aDevice();
    const module = await asleep(number);
    const call = { spoil: { 'X-Request-ID': `asked-of-all-${number}` }, atMs: Date.now() };
    const answers = await all((api) => api.wake({ device_id: siteDevice(number) }, call));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([202]));
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
    assert.equal((await module.nextPacket()).length, 8);
    await isWokenNext(module, number, 'ffff');
  });

  test(`${name}: one X-Request-ID on two devices, asked of different members, is two wakeups, and all tell of both`, async () => {
    const numbers = [aDevice(), aDevice()];
    const id = `one-id-of-two-${numbers[0]}`;
    const modules = [];
    for (const number of numbers) modules.push(await asleep(number));
    const members = site.everywhere();
    const accepted: unknown[] = [];
    for (const [place, number] of numbers.entries()) {
      const api = members[place % members.length] ?? assert.fail();
      const answer = await api.wake({ device_id: siteDevice(number) }, { spoil: { 'X-Request-ID': id } });
      assert.equal(answer.status, 202, answer.text);
      accepted.push(answer.json.data?.['accepted_at']);
    }
    for (const module of modules) assert.equal((await module.nextPacket()).length, 8);
    for (const [place, number] of numbers.entries()) {
      const query = `request_id=${id}&device_id=${siteDevice(number)}`;
      for (const { json, text } of await all((api) => api.call({ path: wakeupPath, query })))
        assert.equal(json.data?.['accepted_at'], accepted[place], text);
    }
    for (const module of modules) await module.close();
  });

  test(`${name}: an operator finds a wakeup that any of them has refused, and one that any has sent`, async () => {
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

  test(`${name}: all write one packet for one signed request, repeated at each of them`, async () => {
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

  test(`${name}: each waits for the outcome of a wakeup that another has sent`, async () => {
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

  test(`${name}: a cursor of one goes on at any other, without loss or repeat, and one that nobody gave is truncated`, async () => {
    const number = aDevice();
    const [first = assert.fail(), ...others] = site.everywhere();
    const isOurs = ofDevice(number);
    const reader = await EventReader.fromNow(first);
    const controller = await site.controller(number);
    await reader.until(isOurs);
    const { next } = await readEvents(first, 'latest', 1);
    await controller.close();
    const module = await site.module(number);
    const isLast = (event: ToldEvent): boolean => isOurs(event) && event.type === 'device.sleep.login';
    const rest = (await reader.until(isLast)).filter(isOurs);
    // The end at one member and the login at another: which is first in the log, nobody says.
    assert.ok(rest.length <= 2);
    for (const api of others)
      assert.deepEqual((await new EventReader(api, next).until(isLast)).filter(isOurs), rest);
    for (let count = 0; count < 10; count += 1) {
      const { next: newest } = await readEvents(first, 'latest', 1);
      // What is truncated is an error.
      await Promise.all(others.map((api) => readEvents(api, newest, 1)));
    }
    const query = `after=${encodeCursor(1_000_000)}&wait=0`;
    for (const { json, text } of await all((api) => api.call({ path: '/v1/events', query })))
      assert.equal(json.data?.['truncated'], true, text);
    await module.close();
  });

  test(`${name}: credentials that are asked for at all of them, at once or again, are of one call`, async () => {
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

  test(`${name}: a replayed issuance is answered like the first by all, and opens no call at any once it has ended`, async () => {
    const body = callBody({ device_id: siteDevice(aDevice()) });
    const signed = { ...issuance, body: JSON.stringify(body), atMs: Date.now() };
    const [first, ...more] = await all((api) => api.call(signed));
    assert.equal(first?.json.code, 0, first?.text);
    for (const { json } of more) assert.deepEqual(json, first?.json);
    const session = first === undefined ? '' : sessionOf(first);
    const [api = assert.fail()] = site.everywhere();
    await post(api, callEnd.path, { device_id: body['device_id'], session });
    for (const { json, text } of await all((one) => one.call(signed))) assert.equal(json.code, 40903, text);
    const next = await post(api, issuance.path, { ...body, msg_payload: 'signed anew' });
    assert.equal(next.json.code, 0, next.text);
    assert.notEqual(sessionOf(next), session);
  });

  test(`${name}: any one ends a call, and all tell how it ended`, async () => {
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

  test(`${name}: a replayed end is answered like the first by all, and leaves the room's next call alone`, async () => {
    const body = callBody({ device_id: siteDevice(aDevice()) });
    const { device_id, msg_room_id } = body;
    const [api = assert.fail()] = site.everywhere();
    const session = sessionOf(await post(api, issuance.path, body));
    const signed = { ...callEnd, body: JSON.stringify({ device_id, msg_room_id }), atMs: Date.now() };
    const first = await api.call(signed);
    assert.equal(first.json.data?.['session'], session, first.text);
    const next = sessionOf(await post(api, issuance.path, { ...body, msg_payload: 'signed anew' }));
    for (const { json } of await all((one) => one.call(signed))) assert.deepEqual(json, first.json);
    const ended = await post(api, callEnd.path, { device_id, session: next, reason: 'rejected' });
    assert.equal(ended.json.data?.['reason'], 'rejected', ended.text);
  });

  test(`${name}: a controller anywhere turns down a call that any one keeps`, async () => {
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

  test(`${name}: a credential that is revoked is refused by all, soon`, async () => {
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

  test(`${name}: a device that is disabled is refused by all, and its sessions end`, async () => {
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

  test(`${name}: devices whose secrets are changed lose what they have anywhere, and others keep it`, async (t) => {
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

  test(`${name}: what replaces the registry is what all serve: who is not in it goes, the others stay`, async (t) => {
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

  test(`${name}: the defaults of a product are known to all, in the welcome and at issuance`, async (t) => {
    const numbers = site.everywhere().map(() => aDevice());
    const file = join(temporaryDirectory(t), 'product.json');
    const products = [
      {
        product_id: 'with-defaults',
        app_ids: [siteAppId],
        defaults: { heartbeat_s: 123, media: { audio_rate: 16_000, audio_channels: 2 } },
      },
    ];
    const devices = numbers.map((number) => ({
      ...deviceEntry(siteDevice(number)),
      product_id: 'with-defaults',
    }));
    await writeFile(file, JSON.stringify({ products, devices }));
    await site.cli('registry', 'import', file);
    for (const [index, api] of site.everywhere().entries()) {
      const number = numbers[index] ?? 0;
      const body = callBody({ device_id: siteDevice(number), audio_rate: null, audio_channels: null });
      await until(() => post(api, issuance.path, body), hasCode(0));
      const controller = await site.controller(number);
      assert.equal(controller.welcome.sleep.heartbeat_s, 123);
      await controller.close();
    }
  });

  const devicesPath = '/v1/devices';

  test(`${name}: a device is added, changed and removed by any, read at once there and soon by all, and told of once each`, async () => {
    for (const [count, api] of site.everywhere().slice(0, 4).entries()) {
      const id = `PROVISIONED-${name}-${count}`;
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
      const isOwn = (event: ToldEvent): boolean => event.device_id === id;
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

  test(`${name}: those that are online are told from the others, wherever they are`, async () => {
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

  test(`${name}: a device is shown and kicked, wherever it is`, async () => {
    for (const number of [aDevice(), aDevice()]) {
      const module = await asleep(number);
      assert.match(await site.cli('status', siteDevice(number)), /open|asleep|sleep/);
      await site.cli('device', 'kick', siteDevice(number));
      await module.closed;
    }
  });
}
