/** Real server processes with sessions of both kinds: an orderly stop, `kill -9`, a second start, SIGHUP. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SignalController } from '../../src/tools/simulator/signal-controller.ts';
import type { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import type { ApiAnswer, ApiClient } from '../support/api-client.ts';
import { checkLog, type PublishedEvent } from '../support/event-log-check.ts';
import { EventReader, readEvents, readLog } from '../support/event-reader.ts';
import type { SiteServer } from '../support/site-server.ts';
import { startTestSite } from '../support/test-site.ts';

const deviceIds = ['TESTDEVICE01', 'SLEEPING01', 'SLEEPING02'];

function outcomeOf(api: ApiClient, requestId: string, waitS: number): Promise<ApiAnswer> {
  return api.call({ path: '/v1/device/wakeup-request', query: `request_id=${requestId}&wait=${waitS}` });
}

/** Accepted, with its event committed, so that it survives a crash. */
async function wake(api: ApiClient, deviceId: string, requestId: string): Promise<ApiAnswer> {
  const reader = await EventReader.fromNow(api);
  const answer = await api.wake({ device_id: deviceId }, { spoil: { 'X-Request-ID': requestId } });
  assert.equal(answer.status, 202, answer.text);
  await reader.until(({ data }) => data['request_id'] === requestId);
  return answer;
}

function endsOf(told: readonly PublishedEvent[], reason: string): string[] {
  return told
    .filter(({ data }) => data['reason'] === reason)
    .map(({ type, device_id }) => `${type} ${device_id}`)
    .sort();
}

const everyEnd = ['device.signal.offline', 'device.sleep.offline'].flatMap((type) =>
  deviceIds.map((deviceId) => `${type} ${deviceId}`).sort(),
);

const unheard = { autoAcknowledge: false };

interface Everybody {
  readonly controllers: readonly SignalController[];
  readonly modules: readonly SleepingModule[];
}

async function isOnline(api: ApiClient, deviceId: string): Promise<unknown> {
  const { json } = await api.connectivity(deviceId);
  return (json.data as { signal?: { is_online?: boolean } }).signal?.is_online;
}

async function everybody(site: SiteServer): Promise<Everybody> {
  const modules = await Promise.all(deviceIds.map((deviceId) => site.module(deviceId)));
  const controllers = await Promise.all(deviceIds.map((deviceId) => site.controller(deviceId, unheard)));
  return { controllers, modules };
}

test('SIGTERM: controllers are notified, long polls answered, all events committed, and the process ends with 0', async (t) => {
  const site = await startTestSite(t);
  const api = site.api;
  await wakeWithoutController(site, api);
  const { controllers, modules } = await everybody(site);
  const { next } = await readEvents(api, 'latest', 1);
  const waiting = readEvents(api, next, 1000, 30);
  const message = api.call({
    method: 'POST',
    path: '/v1/device/message',
    body: JSON.stringify({ device_id: deviceIds[0], name: 'hello', payload: {} }),
  });
  await controllers[0]?.nextMessage();
  assert.equal(await site.stop(), 0, site.server.command.stderr);
  assert.deepEqual((await waiting).events, []);
  assert.equal((await message).json.code, 50402);
  for (const { closed } of controllers) assert.deepEqual(await closed, { code: 4503, reason: 'draining' });
  await Promise.all(modules.map(({ closed }) => closed));
  assert.ok(site.server.command.lines.some((line) => line.includes('"msg":"stopped"')));

  await site.start();
  const told = await readLog(site.api);
  checkLog(told);
  assert.deepEqual(endsOf(told, 'drain'), everyEnd);
  assert.deepEqual(endsOf(told, 'node_lost'), []);
  const { events } = await readEvents(site.api, next, 1000);
  assert.deepEqual(endsOf(events, 'drain'), everyEnd, 'the cursor goes on behind what was shown');
  assert.equal(await site.stop(), 0);
});

/** An earlier ended session, so that the log has more than the events of the drain. */
async function wakeWithoutController(site: SiteServer, api: ApiClient): Promise<void> {
  const module = await site.module('SLEEPING01');
  await wake(api, 'SLEEPING01', 'before');
  await module.close();
  const reader = new EventReader(api);
  await reader.until(({ type }) => type === 'device.sleep.offline');
}

interface SleepTimes {
  readonly last_login_at: number | null;
  readonly last_offline_at: number | null;
}

async function sleepOf(api: ApiClient, deviceId: string): Promise<SleepTimes> {
  const { json, text } = await api.connectivity(deviceId);
  assert.equal(json.code, 0, text);
  return (json.data as { readonly sleep: SleepTimes }).sleep;
}

test('kill -9: answered logins and wakeups are kept, each open session ends once as node_lost, and epochs continue', async (t) => {
  const site = await startTestSite(t);
  const first = await everybody(site);
  const accepted = await wake(site.api, 'SLEEPING01', 'before-the-crash');
  const { last_login_at: loginAt } = await sleepOf(site.api, 'SLEEPING02');
  await lostWithNode(site, first);

  await site.start();
  const found = await sleepOf(site.api, 'SLEEPING02');
  assert.equal(found.last_login_at, loginAt);
  assert.ok(Number(found.last_offline_at) >= Number(loginAt), 'ended as node_lost');
  const path = '/v1/device/wakeup-request';
  const known = await site.api.call({ path, query: 'request_id=before-the-crash' });
  assert.equal(known.json.data?.['accepted_at'], accepted.json.data?.['accepted_at'], known.text);
  const api = site.api;
  const told = await readLog(api);
  const { connections } = checkLog(told);
  assert.deepEqual(endsOf(told, 'node_lost'), everyEnd);
  for (const kind of ['signal', 'sleep'] as const)
    for (const deviceId of deviceIds) {
      const { epoch, openSession, nodeLost } = connections[kind].get(deviceId) ?? {};
      assert.deepEqual([epoch, openSession, nodeLost], [1, null, 1]);
    }
  assert.equal(await isOnline(api, 'SLEEPING01'), false);
  const back = await site.controller('SLEEPING01');
  assert.equal(back.welcome.epoch, 2);
  assert.equal(await site.stop(), 0);
});

/** Kills the server when all logins are committed. */
async function lostWithNode(site: SiteServer, { controllers, modules }: Everybody): Promise<void> {
  const reader = new EventReader(site.api);
  const isLogin = ({ type }: PublishedEvent): boolean => /online$|login$/.test(type);
  for (let logins = 0; logins < everyEnd.length; logins++) await reader.until(isLogin);
  await site.kill();
  await Promise.all([...controllers, ...modules].map(({ closed }) => closed));
}

test('kill -9 during a long poll: the login after the restart completes the wakeup', async (t) => {
  const site = await startTestSite(t);
  const module = await site.module('SLEEPING01');
  const startedMs = performance.now();
  await wake(site.api, 'SLEEPING01', 'before-the-crash');
  const cut = outcomeOf(site.api, 'before-the-crash', 30).catch((error: Error) => error);
  await site.kill();
  assert.ok((await cut) instanceof Error);
  await module.closed;
  await site.start();
  const waiting = outcomeOf(site.api, 'before-the-crash', 30);
  const controller = await site.controller('SLEEPING01');
  const { data } = (await waiting).json;
  assert.equal(data?.['status'], 'completed');
  const tookMs = Number(data['woke_after_ms']);
  assert.ok(tookMs > 0 && tookMs <= performance.now() - startedMs + 1, `woke after ${tookMs} ms`);
  await controller.bye('done');
  const told = await readLog(site.api);
  assert.deepEqual([...checkLog(told).wakeups], [['before-the-crash', 'device.wakeup.completed']]);
  assert.equal(await site.stop(), 0);
});

test('a second signal ends a draining server at once', async (t) => {
  const site = await startTestSite(t, 'sleep.drain_per_second=1');
  const modules = await Promise.all(deviceIds.map((deviceId) => site.module(deviceId)));
  const firstGone = Promise.race(modules.map(({ closed }) => closed));
  const draining = site.stop();
  await firstGone;
  const code = await site.stop();
  assert.equal(await draining, code);
  assert.notEqual(code, 0);
});

test('SIGTERM during a storm of logins: every welcomed login is recorded, and the process ends with 0', async (t) => {
  const rate = 'limits.device_logins_per_second=1000';
  const site = await startTestSite(t, 'signal.drain_per_second=200', 'sleep.drain_per_second=200', rate);
  const welcomed = new Map<string, number>();
  const weather = { isOver: false };
  const storm = deviceIds.map(async (deviceId) => {
    while (!weather.isOver)
      try {
        const [controller] = await Promise.all([site.controller(deviceId), site.module(deviceId)]);
        welcomed.set(deviceId, controller.welcome.epoch);
      } catch {
        return;
      }
  });
  await new EventReader(site.api).next(60);
  const code = await site.stop();
  weather.isOver = true;
  await Promise.all(storm);
  assert.equal(code, 0, site.server.command.lines.slice(-3).join('\n'));
  await site.start();
  const told = await readLog(site.api);
  const { connections } = checkLog(told);
  assert.deepEqual(endsOf(told, 'node_lost'), []);
  for (const [deviceId, epoch] of welcomed) {
    const connection = connections.signal.get(deviceId);
    assert.ok((connection?.epoch ?? 0) >= epoch, 'an epoch that was told is in the log');
    assert.equal(connection?.openSession, null);
  }
  assert.equal(await site.stop(), 0);
});
