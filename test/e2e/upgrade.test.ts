/** Upgrades of a real server by real processes: nobody's socket closes, and a release that does not serve changes nothing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handOverVersion } from '../../src/server/upgrade/hand-over-messages.ts';
import { storeFormat } from '../../src/storage/lmdb/store-format.ts';
import { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import { secretOf, siteDevice } from '../support/site-server.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { noOpenssl, TestCertificate } from '../support/test-certificate.ts';
import { brokenRelease, Load, sameRelease, UpgradeSite } from '../support/upgrade-site.ts';

const devices = 60;

void test('upgrades under load close no sleep session, fail no request, and lose no wakeup', async (t) => {
  const upgraded = await UpgradeSite.start(t, { devices });
  const { site } = upgraded;
  await upgraded.sleep(devices);
  const pids = new Set([upgraded.servingPid]);
  const load = new Load();
  t.after(() => load.stop());
  let turn = 0;
  load.run(
    4,
    20,
    () => upgraded.wakes((turn += 1) % devices),
    ({ status }) => status === 202,
  );
  load.run(
    4,
    20,
    () => site.api.connectivity(siteDevice((turn += 1) % devices)),
    ({ status }) => status === 200,
  );
  const signed = { atMs: Date.now() };
  const asked = await site.api.wake({ device_id: siteDevice(0), once: true }, signed);
  // The second one is by a successor, which is gone then: who was started first stays.
  for (const which of [1, 2]) {
    const [handedOver] = await upgraded.upgrade(which);
    assert.deepEqual([handedOver?.sessions, handedOver?.of], [devices, devices]);
    pids.add(upgraded.servingPid);
    for (const module of upgraded.modules) module.heartbeat();
    await Promise.all(Array.from({ length: devices }, (_, device) => upgraded.wakes(device)));
  }
  const repeated = await site.api.wake({ device_id: siteDevice(0), once: true }, signed);
  assert.deepEqual(repeated.json.data, asked.json.data);
  await load.stop();
  assert.deepEqual(load.failures, []);
  assert.ok(load.done > 20, `${load.done}`);
  assert.equal(pids.size, 3);
  assert.deepEqual(upgraded.closed, []);
  assert.equal(await upgraded.offlineEvents(), '');
  assert.equal(await site.stop(), 0);
  assert.equal(upgraded.closed.length, devices);
});

void test('a release that does not serve leaves the old one serving, also once it has the sessions', async (t) => {
  const upgraded = await UpgradeSite.start(t, { devices: 8 });
  await upgraded.sleep(8);
  const { servingPid } = upgraded;
  upgraded.install('process.exit(3);');
  const refused = await upgraded.command();
  assert.equal(refused.exitCode, 1);
  assert.match(refused.stderr, /the old release goes on: .*ended while it started: exit code 3/);
  // Its connection is one of the server that is given up, through all that follows.
  const early = upgraded.site.newApi();
  assert.equal((await early.connectivity(siteDevice(0))).json.code, 0);
  // The store is closed by then, and the sockets are with both.
  const facts = { version: 'next', storeFormat, dataDirectory: upgraded.site.directory };
  const dies = "if (order.kind === 'take-over') process.exit(7);";
  upgraded.install(brokenRelease({ handOver: handOverVersion, ...facts }, dies));
  process.kill(servingPid, 'SIGUSR2');
  await upgraded.site.server.command.logged('not upgraded; this release goes on', 2);
  for (let device = 0; device < 8; device++) await upgraded.wakes(device);
  assert.equal(upgraded.servingPid, servingPid);
  upgraded.install(sameRelease);
  const { exitCode, stdout, stderr } = await upgraded.command();
  assert.equal(exitCode, 0, stderr);
  assert.match(stdout, /has taken over from/);
  const asked = await early.connectivity(siteDevice(0));
  assert.equal(asked.json.code, 0, asked.text);
  // Woken by the release before, it reports to the new one.
  await upgraded.site.controller(3);
  assert.match(
    await upgraded.site.cli('events', '--type', 'device.wakeup.completed'),
    new RegExp(siteDevice(3)),
  );
  for (let device = 0; device < 8; device++) await upgraded.wakes(device);
  assert.deepEqual(upgraded.closed, []);
  assert.equal(await upgraded.offlineEvents(), '');
});

void test(
  'sleep sessions over TLS are drained, which is said, and come back to the new release',
  { skip: noOpenssl },
  async (t) => {
    const certificate = new TestCertificate(temporaryDirectory(t));
    certificate.use('sleep');
    const upgraded = await UpgradeSite.start(t, { devices: 1, settings: certificate.overrides('sleep') });
    const deviceId = siteDevice(0);
    const logIn = (): Promise<SleepingModule> =>
      SleepingModule.connect(upgraded.site.ports.sleep, {
        deviceId,
        secret: secretOf(deviceId),
        tls: { rejectUnauthorized: false },
      });
    const module = await logIn();
    await upgraded.upgrade();
    await module.closed;
    await upgraded.site.server.command.logged(
      'sleep sessions are TLS, which no other process can go on with: they are drained',
    );
    upgraded.modules[0] = await logIn();
    await upgraded.wakes(0);
    assert.match(await upgraded.offlineEvents(), /"drain"/);
  },
);
