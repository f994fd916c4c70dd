/** What fails between nodes, with real processes and a real NATS: the table of faults, and what backends see of each. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiAnswer } from '../support/api-client.ts';
import { ClusterSite, siteDevice, until, type SiteNode } from '../support/cluster-site.ts';
import { EventReader } from '../support/event-reader.ts';
import type { ToldEvent } from '../support/event-log-check.ts';
import { linkTo } from '../support/nats-scene.ts';
import { startNats, startNatsCluster, type NatsServer } from '../support/nats-server.ts';
import type { Ending } from '../support/temporary-store.ts';

let wakes = 0;

function wake(node: SiteNode, deviceId: string): Promise<ApiAnswer> {
  wakes += 1;
  return node.api.wake({ device_id: deviceId, number: wakes });
}

function isOnline({ json }: ApiAnswer): boolean {
  const { signal } = (json.data ?? {}) as { signal?: { is_online: boolean } };
  return signal?.is_online === true;
}

const hasCode =
  (...codes: number[]) =>
  ({ json }: ApiAnswer): boolean =>
    codes.includes(json.code ?? -1);

function named(events: readonly ToldEvent[], type: string, deviceId: string): ToldEvent[] {
  return events.filter((event) => event.type === type && event.device_id === deviceId);
}

test('any node answers for any device, and wakes it', async (t) => {
  const site = await ClusterSite.start(t, { nats: [await startNats(t)], nodes: ['a', 'b'] });
  const [a, b] = [site.node(0), site.node(1)];
  const [sleeper, controller] = [siteDevice(1), siteDevice(2)];
  const module = await a.module(sleeper);
  const online = await b.controller(controller);
  await until(() => a.api.connectivity(controller), isOnline, 5000);
  const packet = module.nextPacket();
  const woken = await b.api.wake({ device_id: sleeper, custom_data: '0x12aB' });
  assert.deepEqual([woken.status, woken.json.code], [202, 0], woken.text);
  assert.equal((await packet).toString('hex'), '983b16f8f39c12ab');
  assert.equal((await wake(a, siteDevice(3))).json.code, 40412);
  await online.close();
  await until(
    () => a.api.connectivity(controller),
    (answer) => !isOnline(answer),
    5000,
  );
  const log = await logOf(b, has('device.signal.offline', controller));
  checkSeqs(log);
  assert.equal(named(log, 'device.signal.offline', controller).length, 1);
});

test('a device that sleeps at three nodes is woken at all of them, and a fourth login takes the oldest seat', async (t) => {
  const site = await ClusterSite.start(t, { nats: [await startNats(t)], nodes: ['a', 'b', 'c', 'd'] });
  const deviceId = siteDevice(1);
  const modules = [];
  for (const node of site.nodes.slice(0, 3)) modules.push(await node.module(deviceId));
  await logOf(site.node(0), has('device.sleep.login', deviceId, 3));
  const packets = modules.map((module) => module.nextPacket());
  const woken = await wake(site.node(3), deviceId);
  assert.equal(woken.json.code, 0, woken.text);
  for (const packet of packets) assert.equal((await packet).toString('hex'), '983b16f8f39c0000');
  const fourth = await site.node(3).module(deviceId);
  await modules[0]?.closed;
  const again = [...modules.slice(1), fourth].map((module) => module.nextPacket());
  assert.equal((await wake(site.node(0), deviceId)).json.code, 0);
  for (const packet of again) assert.equal((await packet).length, 8);
  const log = await logOf(site.node(1), has('device.wakeup.accepted', deviceId, 2));
  checkSeqs(log);
  assert.deepEqual(named(log, 'device.sleep.offline', deviceId), [], 'a replaced session is no offline');
});

test('an owner that is killed: its devices are node_lost once within 20 s, wakeups are never 202, others feel nothing', async (t) => {
  const site = await ClusterSite.start(t, { nats: [await startNats(t)], nodes: ['a', 'b', 'c'] });
  const [a, b, c] = [site.node(0), site.node(1), site.node(2)];
  const lost = Array.from({ length: 20 }, (_, number) => siteDevice(number));
  for (const deviceId of lost) {
    (await a.module(deviceId)).closed.catch(() => undefined);
    (await a.controller(deviceId)).closed.catch(() => undefined);
  }
  const other = siteDevice(50);
  const untouched = await b.module(other);
  await until(() => c.api.connectivity(lost[19] ?? ''), isOnline, 5000);
  await logOf(c, has('device.sleep.login', other));
  const startedMs = performance.now();
  await a.kill();
  const codes = new Set<number>();
  let isLost = false;
  while (!isLost) {
    const answers = await Promise.all(lost.map((deviceId) => wake(c, deviceId)));
    for (const { json } of answers) codes.add(json.code ?? -1);
    const packet = untouched.nextPacket();
    assert.equal((await wake(c, other)).json.code, 0);
    await packet;
    const states = await Promise.all(lost.map((deviceId) => c.api.connectivity(deviceId)));
    for (const state of states) assert.equal(state.json.code, 0, state.text);
    isLost = states.every((state) => !isOnline(state));
    assert.ok(performance.now() - startedMs < 20_000, 'its devices are still online after 20 s');
  }
  t.diagnostic(
    `all lost after ${Math.round(performance.now() - startedMs)} ms; wakeups ${[...codes].join(', ')}`,
  );
  for (const code of codes) assert.ok([50301, 50402, 40412].includes(code), `a wakeup was answered ${code}`);
  const log = await new EventReader(b.api).until(lastLoss(lost));
  checkSeqs(log);
  for (const deviceId of lost)
    for (const type of ['device.signal.offline', 'device.sleep.offline']) {
      const ends = named(log, type, deviceId);
      assert.deepEqual(
        ends.map(({ data }) => data.reason),
        ['node_lost'],
      );
    }
});

test('an owner that is stopped and goes on: what all share answers for it, 50301 soon after its lease is gone, and its sessions come back without a ghost', async (t) => {
  const site = await ClusterSite.start(t, { nats: [await startNats(t)], nodes: ['a', 'b'] });
  const [a, b] = [site.node(0), site.node(1)];
  const deviceId = siteDevice(1);
  const module = await a.module(deviceId);
  const controller = await a.controller(deviceId);
  await until(() => b.api.connectivity(deviceId), isOnline, 5000);
  a.pause();
  assert.ok(isOnline(await b.api.connectivity(deviceId)), 'what all share says what the owner last said');
  assert.ok(hasCode(50402, 50301)(await wake(b, deviceId)), 'a stopped owner has not written');
  await until(
    () => b.api.connectivity(deviceId),
    (answer) => !isOnline(answer),
    20_000,
  );
  const startedMs = performance.now();
  assert.ok(hasCode(50301, 40412)(await wake(b, deviceId)));
  assert.ok(performance.now() - startedMs < 500, 'a caller waited for an owner whose lease is gone');
  a.resume();
  await until(() => b.api.connectivity(deviceId), isOnline, 10_000);
  const packet = module.nextPacket();
  await until(() => wake(b, deviceId), hasCode(0), 5000);
  assert.equal((await packet).length, 8);
  controller.heartbeat();
  const log = await logOf(
    b,
    has('device.sleep.login', deviceId, 2),
    has('device.signal.online', deviceId, 2),
  );
  checkSeqs(log);
  for (const [online, offline] of [
    ['device.signal.online', 'device.signal.offline'],
    ['device.sleep.login', 'device.sleep.offline'],
  ] as const) {
    const logins = named(log, online, deviceId);
    assert.deepEqual(
      logins.map(({ data }) => data.recovered ?? false),
      [false, true],
    );
    assert.equal(logins[0]?.data.session, logins[1]?.data.session);
    assert.deepEqual(
      named(log, offline, deviceId).map(({ data }) => data.reason),
      ['node_lost'],
    );
  }
});

test('the only NATS dies: local devices are served, others are 50301, and all is consistent within 5 s of its return', async (t) => {
  const nats = await startNats(t);
  const site = await ClusterSite.start(t, { nats: [nats], nodes: ['a', 'b'] });
  const [a, b] = [site.node(0), site.node(1)];
  const [here, gone, late] = [siteDevice(1), siteDevice(2), siteDevice(3)];
  const module = await a.module(here);
  const leaving = await a.controller(gone);
  await until(() => b.api.connectivity(gone), isOnline, 5000);
  await nats.kill();
  await until(() => b.api.connectivity(here), hasCode(50301), 10_000);
  const packet = module.nextPacket();
  assert.equal((await wake(a, here)).json.code, 0, 'a local device is woken without NATS');
  assert.equal((await packet).length, 8);
  assert.equal((await a.api.connectivity(here)).json.code, 0);
  assert.equal((await wake(b, here)).json.code, 50301);
  await leaving.close();
  const controller = await a.controller(late);
  assert.ok(controller.welcome.epoch > 0, 'a login has a provisional epoch');
  assert.ok(isOnline(await a.api.connectivity(late)));
  await nats.start();
  const tookMs = await until(() => b.api.connectivity(late), isOnline, 5000);
  await until(
    () => b.api.connectivity(gone),
    (answer) => hasCode(0)(answer) && !isOnline(answer),
    5000 - tookMs,
  );
  await until(() => wake(b, here), hasCode(0), 5000);
  const log = await logOf(b, has('device.signal.offline', gone), has('device.wakeup.accepted', here, 2));
  checkSeqs(log);
  assert.equal(named(log, 'device.signal.online', late).length, 1);
  assert.equal(named(log, 'device.signal.offline', gone).length, 1);
  assert.deepEqual(named(log, 'device.sleep.offline', here), []);
});

test('one NATS server of three dies: all is served again within 5 s', async (t) => {
  const servers = await startNatsCluster(t);
  const site = await ClusterSite.start(t, { nats: servers, nodes: ['a', 'b'] });
  const [a, b] = [site.node(0), site.node(1)];
  const deviceId = siteDevice(1);
  const module = await a.module(deviceId);
  await until(() => wake(b, deviceId), hasCode(0), 10_000);
  assert.equal((await module.nextPacket()).length, 8);
  const leader = await leaderOf(t, servers);
  await leader.kill();
  const tookMs = await until(() => wake(b, deviceId), hasCode(0), 5000);
  assert.equal((await module.nextPacket()).length, 8);
  await until(() => a.api.connectivity(siteDevice(2)), hasCode(0), 5000 - tookMs);
  const next = await b.controller(siteDevice(3));
  assert.ok(next.welcome.epoch > 0);
  // Rows are written by their leader only: 4 to 9 s until there is another, and then the next try.
  await until(() => a.api.connectivity(siteDevice(3)), isOnline, 20_000);
  t.diagnostic(`served again after ${Math.round(tookMs)} ms`);
});

test('a node cut off from NATS: no event lost, none twice, its sessions recovered', async (t) => {
  const nats = [await startNats(t)];
  const site = await ClusterSite.start(t, { nats, nodes: ['a', 'b'], relayed: true });
  const [a, b] = [site.node(0), site.node(1)];
  const [stays, moves, leaves] = [siteDevice(1), siteDevice(2), siteDevice(3)];
  const module = await a.module(stays);
  const moved = await a.controller(moves);
  const leaving = await a.controller(leaves);
  await until(() => b.api.connectivity(leaves), isOnline, 5000);
  a.relay?.silence();
  await until(
    () => b.api.connectivity(leaves),
    (answer) => !isOnline(answer),
    20_000,
  );
  const packet = module.nextPacket();
  assert.equal((await wake(a, stays)).json.code, 0);
  assert.equal((await packet).length, 8);
  await leaving.close();
  const second = await b.controller(moves);
  a.relay?.mend();
  assert.equal((await moved.closed).code, 4409, 'the session that was taken over closes as replaced');
  await until(() => wake(b, stays), hasCode(0), 5000);
  second.heartbeat();
  const log = await logOf(b, has('device.wakeup.accepted', stays, 2), has('device.signal.offline', leaves));
  checkSeqs(log);
  assert.equal(new Set(log.map(({ id }) => id)).size, log.length, 'an event is told twice');
  assert.deepEqual(
    named(log, 'device.sleep.login', stays).map(({ data }) => data.recovered ?? false),
    [false, true],
  );
  assert.equal(named(log, 'device.signal.online', moves).length, 2);
  assert.equal(named(log, 'device.signal.offline', leaves).length, 1);
});

test('a device signs in at another node over a half-open socket: the new one owns at once, the late close changes nothing', async (t) => {
  const site = await ClusterSite.start(t, { nats: [await startNats(t)], nodes: ['a', 'b'] });
  const [a, b] = [site.node(0), site.node(1)];
  const deviceId = siteDevice(1);
  const old = await a.controller(deviceId);
  const fresh = await b.controller(deviceId);
  assert.equal(fresh.welcome.epoch, old.welcome.epoch + 1);
  const state = await b.api.connectivity(deviceId);
  assert.ok(isOnline(state), state.text);
  const message = await a.api.call({
    method: 'POST',
    path: '/v1/device/message',
    body: JSON.stringify({ device_id: deviceId, name: 'ring', payload: {} }),
  });
  assert.equal(message.json.code, 0, message.text);
  await old.closed;
  for (const node of [a, b]) assert.ok(isOnline(await node.api.connectivity(deviceId)));
  const log = await logOf(a, has('device.signal.online', deviceId, 2));
  assert.deepEqual(
    named(log, 'device.signal.online', deviceId).map(({ data }) => data.replaced),
    [false, true],
  );
  assert.deepEqual(named(log, 'device.signal.offline', deviceId), []);
});

test('a node that is told to stop says so, and its devices go on elsewhere', async (t) => {
  const site = await ClusterSite.start(t, { nats: [await startNats(t)], nodes: ['a', 'b'] });
  const [a, b] = [site.node(0), site.node(1)];
  const deviceId = siteDevice(1);
  const module = await a.module(deviceId);
  await until(() => wake(b, deviceId), hasCode(0), 5000);
  await module.nextPacket();
  assert.equal(await a.stop(), 0);
  await module.closed;
  const next = await b.module(deviceId);
  await until(() => wake(b, deviceId), hasCode(0), 5000);
  assert.equal((await next.nextPacket()).length, 8);
  const log = await logOf(
    b,
    has('device.wakeup.accepted', deviceId, 2),
    has('device.sleep.offline', deviceId),
  );
  checkSeqs(log);
  assert.deepEqual(
    named(log, 'device.sleep.offline', deviceId).map(({ data }) => data.reason),
    ['drain'],
  );
});

test('an owner that was killed a moment ago: its record is told, a wakeup is tried once more and is 50301', async (t) => {
  const site = await ClusterSite.start(t, { nats: [await startNats(t)], nodes: ['a', 'b'] });
  const [a, b] = [site.node(0), site.node(1)];
  const deviceId = siteDevice(1);
  (await a.module(deviceId)).closed.catch(() => undefined);
  (await a.controller(deviceId)).closed.catch(() => undefined);
  await until(() => b.api.connectivity(deviceId), isOnline, 5000);
  await a.kill();
  const startedMs = performance.now();
  const woken = await wake(b, deviceId);
  assert.equal(woken.json.code, 50301, woken.text);
  const tookMs = performance.now() - startedMs;
  assert.ok(tookMs >= 75 && tookMs < 1800, `after ${tookMs} ms`);
  assert.ok(isOnline(await b.api.connectivity(deviceId)), 'the record is told while the lease lives');
});

test('the owner and NATS are stopped: a query is 50401 after 2 s, and no wakeup is said to be done', async (t) => {
  const nats = await startNats(t);
  const site = await ClusterSite.start(t, { nats: [nats], nodes: ['a', 'b'] });
  const [a, b] = [site.node(0), site.node(1)];
  const deviceId = siteDevice(1);
  const controller = await a.controller(deviceId);
  await until(() => b.api.connectivity(deviceId), isOnline, 5000);
  a.pause();
  nats.pause();
  const startedMs = performance.now();
  const [query, woken] = await Promise.all([b.api.connectivity(deviceId), wake(b, deviceId)]);
  const tookMs = performance.now() - startedMs;
  assert.equal(query.json.code, 50401, query.text);
  assert.ok(tookMs >= 1900 && tookMs < 2700, `after ${tookMs} ms`);
  assert.ok(hasCode(50301, 50402)(woken), woken.text);
  a.resume();
  nats.resume();
  await controller.close();
});

/** Of each device from 1, without a gap or a repeat, in the order of the log. */
function checkSeqs(log: readonly ToldEvent[]): void {
  const seqs = new Map<string, number>();
  for (const { device_id: deviceId, seq } of log) {
    assert.equal(seq, (seqs.get(deviceId) ?? 0) + 1, `seq of ${deviceId}`);
    seqs.set(deviceId, seq);
  }
}

function lastLoss(devices: readonly string[]): (event: ToldEvent) => boolean {
  let left = devices.length * 2;
  return ({ data }) => {
    if (data.reason === 'node_lost') left -= 1;
    return left === 0;
  };
}

/** The server whose loss is felt most: it leads the rows of all devices. */
async function leaderOf(t: Ending, servers: readonly NatsServer[]): Promise<NatsServer> {
  const url = servers.map((server) => server.url).join(',');
  const link = await linkTo(t, url, { prefix: 'reveille', replicas: servers.length });
  const manager = await link.jetstream().jetstreamManager(false);
  const { cluster } = await manager.streams.info(link.names.bucketStream('rows'));
  const leader = servers[Number(cluster?.leader?.split('-').at(-1))];
  assert.ok(leader !== undefined, `nobody leads the rows: ${JSON.stringify(cluster)}`);
  return leader;
}

type LogCheck = (log: readonly ToldEvent[]) => boolean;

function has(type: string, deviceId: string, count = 1): LogCheck {
  return (log) => named(log, type, deviceId).length >= count;
}

/** The whole log as a node tells it, once it has what is asked for: a row is changed a moment before its event is told. */
async function logOf(node: SiteNode, ...checks: LogCheck[]): Promise<ToldEvent[]> {
  const reader = new EventReader(node.api);
  const log: ToldEvent[] = [];
  for (const endMs = performance.now() + 15_000; !checks.every((check) => check(log));) {
    log.push(...(await reader.rest()));
    assert.ok(performance.now() < endMs, `not all is in the log: ${JSON.stringify(log)}`);
  }
  return log;
}
