/**
 * A request at one process and what it is about at another: messages, wakeups and their repeats, outcomes and events.
 * Which process a connection is with is the kernel's choice: sixteen connections are with all of them.
 */
import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { after, describe, test } from 'node:test';
import type { SignalController } from '../../src/tools/simulator/signal-controller.ts';
import type { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import { encodeCursor } from '../../src/protocol/rest/events.ts';
import type { ApiAnswer, ApiClient } from '../support/api-client.ts';
import { ProcessSite } from '../support/cluster-processes.ts';
import { siteDevice } from '../support/cluster-site.ts';
import { readEvents } from '../support/crash-load.ts';
import { EventReader } from '../support/event-reader.ts';

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);

/** Each test has a device of its own. */
const site = await ProcessSite.start({ after }, 2);
let devices = 0;

function aDevice(): number {
  devices += 1;
  return devices;
}

function everywhere(): ApiClient[] {
  return range(16).map(() => site.api());
}

/** Of each worker. */
async function signalSessions(): Promise<number[]> {
  return (await site.members()).slice(1).map((member) => member.signal_sessions ?? 0);
}

/** Logs the device in until another worker than before has it. */
async function loginElsewhere(number: number, held: readonly number[]): Promise<SignalController> {
  for (;;) {
    const controller = await site.controller(number);
    if ((await signalSessions()).join() !== held.join()) return controller;
  }
}

function say(api: ApiClient, number: number, count: number, atMs = Date.now()): Promise<ApiAnswer> {
  const body = { device_id: siteDevice(number), name: 'msga_join_voip_room', payload: { count } };
  return api.call({ method: 'POST', path: '/v1/device/message', body: JSON.stringify(body), atMs });
}

async function packetsOf(module: SleepingModule): Promise<number> {
  let packets = 0;
  for (;;) {
    const came = await Promise.race([module.nextPacket().then(() => true), wait(300, false)]);
    if (!came) return packets;
    packets += 1;
  }
}

describe('of several processes', { timeout: 120_000 }, () => {
  test('any one brings a message to a controller, wherever it is', async () => {
    const device = aDevice();
    const controller = await site.controller(device);
    for (const [count, api] of everywhere().entries()) {
      const saying = say(api, device, count);
      const { id, payload } = await controller.nextMessage();
      controller.acknowledge(id);
      assert.deepEqual(payload, { count });
      const said = await saying;
      assert.deepEqual([said.status, said.json.code], [200, 0], said.text);
    }
    await controller.bye('asleep');
  });

  test('one is told a message that another has brought, and brings it no second time', async () => {
    const device = aDevice();
    const controller = await site.controller(device);
    const atMs = Date.now();
    const first = say(site.api(), device, 1, atMs);
    controller.acknowledge((await controller.nextMessage()).id);
    const { data } = (await first).json;
    for (const api of everywhere()) {
      const repeat = await Promise.race([say(api, device, 1, atMs), controller.nextMessage()]);
      assert.ok('status' in repeat, 'the message came a second time');
      assert.deepEqual([repeat.status, repeat.json.data], [200, data], repeat.text);
    }
    await controller.bye('asleep');
  });

  test('one takes a controller over from another, which closes its own as replaced', async () => {
    const device = aDevice();
    const reader = await EventReader.fromNow(site.api());
    const first = await site.controller(device);
    const held = await signalSessions();
    assert.equal(sum(held), 1);
    const second = await loginElsewhere(device, held);
    assert.deepEqual(await first.closed, { code: 4409, reason: 'replaced' });
    const saying = say(site.api(), device, 1);
    second.acknowledge((await second.nextMessage()).id);
    assert.equal((await saying).json.code, 0);
    await second.bye('asleep');
    const isOurs = ({ device_id }: { device_id: string }): boolean => device_id === siteDevice(device);
    const told = await reader.until((event) => isOurs(event) && event.type === 'device.signal.offline');
    const ours = told.filter(isOurs).map(({ seq, type, data }) => [seq, type, data['replaced'] ?? null]);
    const logins = ours.length - 1;
    assert.deepEqual(ours, [
      [1, 'device.signal.online', false],
      ...range(logins - 1).map((index) => [index + 2, 'device.signal.online', true]),
      [logins + 1, 'device.signal.offline', null],
    ]);
    assert.deepEqual(await signalSessions(), [0, 0]);
  });

  test('all write one packet for one X-Request-ID, asked of them at once', async () => {
    const device = aDevice();
    const module = await site.module(device);
    await site.committed(device);
    const apis = everywhere();
    await Promise.all(apis.map((api) => api.connectivity(siteDevice(device))));
    const call = { spoil: { 'X-Request-ID': 'asked-of-all' } };
    const answers = await Promise.all(apis.map((api) => api.wake({ device_id: siteDevice(device) }, call)));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([202]));
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
    assert.equal(await packetsOf(module), 1);
    const other = { device_id: siteDevice(device), custom_data: '0x0001' };
    for (const api of apis) {
      const changed = await api.wake(other, call);
      assert.deepEqual([changed.status, changed.json.code], [400, 40003], changed.text);
    }
    assert.equal(await packetsOf(module), 0);
  });

  test('all write one packet for one signed request, repeated at each of them', async () => {
    const device = aDevice();
    const module = await site.module(device);
    await site.committed(device);
    const atMs = Date.now();
    const [first, ...others] = everywhere();
    const accepted = await first?.wake({ device_id: siteDevice(device) }, { atMs });
    assert.equal(accepted?.status, 202);
    const repeats = await Promise.all(
      others.map((api) => api.wake({ device_id: siteDevice(device) }, { atMs })),
    );
    assert.deepEqual(new Set(repeats.map(({ status }) => status)), new Set([202]));
    assert.equal(await packetsOf(module), 1);
  });

  test('each knows at once of a wakeup that another has accepted', async () => {
    const device = aDevice();
    await site.module(device);
    await site.committed(device);
    const apis = everywhere();
    await Promise.all(apis.map((api) => api.connectivity(siteDevice(device))));
    for (const api of apis) {
      const woken = await site.wake(api, device);
      const query = `request_id=${String(woken.json['request_id'])}`;
      const asked = apis.map((other) => other.call({ path: '/v1/device/wakeup-request', query }));
      for (const { json, text } of await Promise.all(asked))
        assert.equal(json.data?.['status'], 'accepted', text);
    }
  });

  test('each waits for the outcome of a wakeup that another has sent', async () => {
    const device = aDevice();
    const module = await site.module(device);
    await site.committed(device);
    const woken = await site.wake(site.api(), device);
    await module.nextPacket();
    const query = `request_id=${String(woken.json['request_id'])}&wait=20`;
    const asked = everywhere().map((api) => api.call({ path: '/v1/device/wakeup-request', query }));
    await wait(100);
    const controller = await site.controller(device);
    const cameMs = performance.now();
    for (const answer of await Promise.all(asked))
      assert.equal(answer.json.data?.['status'], 'completed', answer.text);
    assert.ok(performance.now() - cameMs < 1000, 'they are answered when it comes');
    await controller.bye('asleep');
  });

  test('each answers who waits for events as soon as another has one', async () => {
    const apis = everywhere();
    const { next: latest } = await readEvents(site.api(), 'latest', 1);
    const seen = apis.map(async (api) => {
      await new EventReader(api, latest).until(({ type }) => type === 'device.sleep.login');
      return performance.now();
    });
    await wait(300);
    const startedMs = performance.now();
    await site.module(aDevice());
    for (const atMs of await Promise.all(seen))
      assert.ok(atMs - startedMs < 500, `seen after ${Math.round(atMs - startedMs)} ms`);
  });

  test('each has what the newest cursor of any other points behind, and knows one that nobody gave', async () => {
    const [reading, ...apis] = everywhere();
    assert.ok(reading !== undefined);
    const modules = await Promise.all(range(10).map(() => site.module(aDevice())));
    for (const module of modules) {
      await module.close();
      const { next } = await readEvents(reading, 'latest', 1);
      // What is truncated is an error.
      await Promise.all(apis.map((api) => readEvents(api, next, 1)));
    }
    const query = `after=${encodeCursor(1_000_000)}&wait=0`;
    for (const api of apis)
      assert.equal((await api.call({ path: '/v1/events', query })).json.data?.['truncated'], true);
  });
});
