/**
 * What fails at the nodes of a cluster, with real processes and a real NATS, and what backends see of each. The nodes are
 * the same in all tests, one after the other; every test has devices of its own. Source: cluster.md.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { checkSeqs, has, logOf, named } from '../support/cluster-faults.ts';
import { ClusterSite } from '../support/cluster-site.ts';
import { startNats } from '../support/nats-server.ts';
import { hasCode, isOnline, siteDevice, until, wake } from '../support/site-server.ts';
import { hangMsMax } from '../support/hang-limit.ts';
import { lastFirst } from '../support/temporary-store.ts';

const ending = lastFirst({ after });
const site = await ClusterSite.start(ending, {
  nats: [await startNats(ending)],
  nodes: ['a', 'b', 'c', 'd'],
});
const [a, b, c, d] = [site.node(0), site.node(1), site.node(2), site.node(3)];

test('a device that sleeps at three nodes is woken at all of them, and a fourth login takes the oldest slot', async () => {
  const deviceId = siteDevice(1);
  const modules = [];
  // One after the other: the slot that was taken first, as all see it, is the oldest.
  for (const node of [a, b, c]) {
    modules.push(await node.module(deviceId));
    await logOf(a, has('device.sleep.login', deviceId, modules.length));
  }
  const packets = modules.map((module) => module.nextPacket());
  const woken = await wake(d.api, deviceId);
  assert.equal(woken.json.code, 0, woken.text);
  for (const packet of packets) assert.equal((await packet).toString('hex'), '983b16f8f39c0000');
  const fourth = await d.module(deviceId);
  await modules[0]?.closed;
  const again = [...modules.slice(1), fourth].map((module) => module.nextPacket());
  assert.equal((await wake(a.api, deviceId)).json.code, 0);
  for (const packet of again) assert.equal((await packet).length, 8);
  const log = await logOf(b, has('device.wakeup.accepted', deviceId, 2));
  checkSeqs(log);
  assert.deepEqual(named(log, 'device.sleep.offline', deviceId), [], 'a replaced session is no offline');
});

test('a device signs in at another node over a half-open socket: the new one owns at once, the late close changes nothing', async () => {
  const deviceId = siteDevice(2);
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

test('an owner that is stopped and goes on: what all share answers for it, 50301 soon after its lease is gone, and its sessions come back without a ghost', async () => {
  const deviceId = siteDevice(3);
  const module = await a.module(deviceId);
  const controller = await a.controller(deviceId);
  await until(() => b.api.connectivity(deviceId), isOnline);
  a.pause();
  assert.ok(isOnline(await b.api.connectivity(deviceId)), 'what all share says what the owner last said');
  const body = JSON.stringify({ device_ids: [deviceId, siteDevice(2)] });
  const batch = await b.api.call({ method: 'POST', path: '/v1/devices/connectivity', body });
  const { devices } = batch.json.data as {
    devices: { code: number; data: { signal: { is_online: boolean } } }[];
  };
  assert.deepEqual(
    devices.map(({ code, data }) => [code, data.signal.is_online]),
    [
      [0, true],
      [0, true],
    ],
    'in a batch, too, beside a device of another member',
  );
  assert.ok(hasCode(50402, 50301)(await wake(b.api, deviceId)), 'a stopped owner has not written');
  await until(
    () => b.api.connectivity(deviceId),
    (answer) => !isOnline(answer),
  );
  assert.ok(hasCode(50301, 40412)(await wake(b.api, deviceId)));
  a.resume();
  await until(() => b.api.connectivity(deviceId), isOnline);
  const packet = module.nextPacket();
  await until(() => wake(b.api, deviceId), hasCode(0));
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

test('a node that is told to stop says so, and its devices go on elsewhere', async () => {
  const deviceId = siteDevice(4);
  const module = await a.module(deviceId);
  await until(() => wake(b.api, deviceId), hasCode(0));
  await module.nextPacket();
  assert.equal(await a.stop(), 0);
  await module.closed;
  const next = await b.module(deviceId);
  await until(() => wake(b.api, deviceId), hasCode(0));
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
  await a.start();
});

test('an owner that is killed: its devices are node_lost once within 20 s, wakeups are never 202, others feel nothing', async (t) => {
  const lost = Array.from({ length: 20 }, (_, number) => siteDevice(30 + number));
  for (const deviceId of lost) {
    (await a.module(deviceId)).closed.catch(() => undefined);
    (await a.controller(deviceId)).closed.catch(() => undefined);
  }
  const other = siteDevice(50);
  const untouched = await b.module(other);
  await until(() => c.api.connectivity(lost[19] ?? ''), isOnline);
  await logOf(c, has('device.sleep.login', other));
  const startedMs = performance.now();
  await a.kill();
  const codes = new Set<number>();
  let isLost = false;
  while (!isLost) {
    const answers = await Promise.all(lost.map((deviceId) => wake(c.api, deviceId)));
    for (const { json } of answers) codes.add(json.code ?? -1);
    const packet = untouched.nextPacket();
    assert.equal((await wake(c.api, other)).json.code, 0);
    await packet;
    const states = await Promise.all(lost.map((deviceId) => c.api.connectivity(deviceId)));
    for (const state of states) assert.equal(state.json.code, 0, state.text);
    isLost = states.every((state) => !isOnline(state));
    assert.ok(performance.now() - startedMs < hangMsMax, 'its devices are still online');
  }
  t.diagnostic(
    `all lost after ${Math.round(performance.now() - startedMs)} ms; wakeups ${[...codes].join(', ')}`,
  );
  for (const code of codes) assert.ok([50301, 50402, 40412].includes(code), `a wakeup was answered ${code}`);
  const ends = ['device.signal.offline', 'device.sleep.offline'];
  const log = await logOf(b, ...lost.flatMap((deviceId) => ends.map((type) => has(type, deviceId))));
  checkSeqs(log);
  for (const deviceId of lost)
    for (const type of ends)
      assert.deepEqual(
        named(log, type, deviceId).map(({ data }) => data.reason),
        ['node_lost'],
      );
});

test('an owner that was killed a moment ago: its record is answered, a wakeup is tried once more and is 50301', async () => {
  const deviceId = siteDevice(5);
  (await d.module(deviceId)).closed.catch(() => undefined);
  (await d.controller(deviceId)).closed.catch(() => undefined);
  await until(() => b.api.connectivity(deviceId), isOnline);
  await d.kill();
  const startedMs = performance.now();
  const woken = await wake(b.api, deviceId);
  assert.equal(woken.json.code, 50301, woken.text);
  const tookMs = performance.now() - startedMs;
  assert.ok(tookMs >= 75, `after ${tookMs} ms`);
  assert.ok(isOnline(await b.api.connectivity(deviceId)), 'the record is answered while the lease lives');
});
