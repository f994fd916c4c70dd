/** Upgrades of several processes: one worker after another hands over, and devices, backends and the other workers notice nothing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handOverVersion } from '../../src/server/upgrade/hand-over-messages.ts';
import type { ClusterJson } from '../../src/server/membership/cluster-json.ts';
import { storeFormat } from '../../src/storage/lmdb/store-format.ts';
import { isAsleep, siteDevice, until } from '../support/site-server.ts';
import { brokenWorker, Load, sameRelease, UpgradeSite } from '../support/upgrade-site.ts';

const devices = 40;

void test('workers that hand over close no sleep session and fail no request, and one that cannot goes on', async (t) => {
  const upgraded = await UpgradeSite.start(t, { devices, processes: 2 });
  const { site } = upgraded;
  await upgraded.sleep(devices);
  // Another worker knows of a login when that is committed.
  for (let device = 0; device < devices; device++)
    await until(() => site.newApi().connectivity(siteDevice(device)), isAsleep);
  const load = new Load();
  t.after(() => load.stop());
  let turn = 0;
  // Connections of a worker and of the other one: most wakeups are of a device at another than was asked.
  const apis = Array.from({ length: 8 }, () => site.newApi());
  const ask = (one: number) => apis[one % apis.length] ?? assert.fail('there is one');
  load.run(
    8,
    20,
    async () => {
      const device = (turn += 1) % devices;
      const answer = await ask(turn).wake({ device_id: siteDevice(device), turn });
      if (answer.status === 202) await upgraded.modules[device]?.nextPacket();
      return answer;
    },
    ({ status }) => status === 202,
  );
  load.run(
    4,
    20,
    () => ask((turn += 1)).connectivity(siteDevice(turn % devices)),
    (answer) => answer.status === 200 && isAsleep(answer),
  );
  const signed = { atMs: Date.now() };
  const asked = await site.api.wake({ device_id: siteDevice(0), once: true }, signed);

  // The store is closed by then, and the sockets are with both.
  const facts = { version: 'next', pid: 0, storeFormat, dataDirectory: site.directory };
  upgraded.install(brokenWorker({ handOver: handOverVersion, ...facts }, 7));
  const refused = await upgraded.command();
  assert.equal(refused.exitCode, 1, refused.stdout);
  assert.match(refused.stderr, /the old release goes on: process 1: .*exit code 7/);
  upgraded.install(sameRelease);

  const before = await site.ops<ClusterJson>('/v1/cluster');
  const { exitCode, stdout, stderr } = await upgraded.command();
  assert.equal(exitCode, 0, stderr);
  assert.match(stdout, /has taken over from/);
  const after = await site.ops<ClusterJson>('/v1/cluster');
  assert.deepEqual(
    after.members.map(({ process, state }) => [process, state]),
    [0, 1, 2].map((process) => [process, 'up']),
  );
  for (const [at, { pid, member }] of before.members.entries()) {
    assert.notEqual(after.members[at]?.pid, pid);
    if (at > 0) assert.equal(after.members[at]?.member, member);
  }

  for (const module of upgraded.modules) module.heartbeat();
  const repeated = await site.api.wake({ device_id: siteDevice(0), once: true }, signed);
  assert.deepEqual(repeated.json.data, asked.json.data);
  await load.stop();
  assert.deepEqual(load.failures, []);
  assert.ok(load.done > 100, `${load.done}`);
  assert.deepEqual(upgraded.closed, []);
  assert.equal(await upgraded.offlineEvents(), '');
  // Who hangs up is seen to by the process that has the session now.
  await upgraded.modules[5]?.close();
  await until(
    () => site.api.connectivity(siteDevice(5)),
    (answer) => !isAsleep(answer),
  );
  assert.match(await upgraded.offlineEvents(), /peer_closed/);
  // Woken by a process before, it reports to one of now.
  await site.controller(3);
  const completed = await site.cli('events', '--type', 'device.wakeup.completed');
  assert.match(completed, new RegExp(siteDevice(3)));
  assert.equal(await site.stop(), 0);
});
