/** What fails at the nodes of a cluster, with real processes and a real NATS, and what backends see of each. Source: cluster.md. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkSeqs, has, hasCode, isOnline, logOf, named, wake } from '../support/cluster-faults.ts';
import { ClusterSite, siteDevice, until } from '../support/cluster-site.ts';
import { startNats } from '../support/nats-server.ts';

test('any node answers for any device, and wakes it', async (t) => {
  const site = await ClusterSite.start(t, { nats: [await startNats(t)], nodes: ['a', 'b'] });
  const [a, b] = [site.node(0), site.node(1)];
  const [sleeping, controller] = [siteDevice(1), siteDevice(2)];
  const module = await a.module(sleeping);
  const online = await b.controller(controller);
  await until(() => a.api.connectivity(controller), isOnline, 5000);
  const packet = module.nextPacket();
  const woken = await b.api.wake({ device_id: sleeping, custom_data: '0x12aB' });
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

test('a device that sleeps at three nodes is woken at all of them, and a fourth login takes the oldest slot', async (t) => {
  const site = await ClusterSite.start(t, { nats: [await startNats(t)], nodes: ['a', 'b', 'c', 'd'] });
  const deviceId = siteDevice(1);
  const modules = [];
  // One after the other: the slot that was taken first, as all see it, is the oldest.
  for (const node of site.nodes.slice(0, 3)) {
    modules.push(await node.module(deviceId));
    await logOf(site.node(0), has('device.sleep.login', deviceId, modules.length));
  }
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

test('an owner that was killed a moment ago: its record is answered, a wakeup is tried once more and is 50301', async (t) => {
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
  assert.ok(isOnline(await b.api.connectivity(deviceId)), 'the record is answered while the lease lives');
});
