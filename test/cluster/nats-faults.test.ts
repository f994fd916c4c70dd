/** What fails at NATS, with real processes, and what backends see of each. Source: cluster.md, Without NATS. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkSeqs, has, logOf, named } from '../support/cluster-faults.ts';
import type { ClusterJson } from '../../src/server/membership/cluster-json.ts';
import { memberKnowledgeMsMax } from '../../src/model/cluster.ts';
import { hangMsMax } from '../support/hang-limit.ts';
import { runCli, type CliResult } from '../support/cli-process.ts';
import { ClusterSite } from '../support/cluster-site.ts';
import { startNats, startNatsCluster, type NatsServer } from '../support/nats-server.ts';
import { linkTo } from '../support/nats-scene.ts';
import { hasCode, isOnline, siteDevice, until, wake } from '../support/site-server.ts';
import type { Ending } from '../support/temporary-store.ts';

test('the only NATS dies: local devices are served, others are 50301, and all is consistent within 5 s of its return', async (t) => {
  const nats = await startNats(t);
  const site = await ClusterSite.start(t, { nats: [nats], nodes: ['a', 'b'] });
  const [a, b] = [site.node(0), site.node(1)];
  const [here, gone, late] = [siteDevice(1), siteDevice(2), siteDevice(3)];
  const module = await a.module(here);
  const leaving = await a.controller(gone);
  await until(() => b.api.connectivity(gone), isOnline);
  await nats.kill();
  await until(() => b.api.connectivity(here), hasCode(50301));
  const packet = module.nextPacket();
  assert.equal((await wake(a.api, here)).json.code, 0, 'a local device is woken without NATS');
  assert.equal((await packet).length, 8);
  assert.equal((await a.api.connectivity(here)).json.code, 0);
  assert.equal((await wake(b.api, here)).json.code, 50301);
  await leaving.close();
  const controller = await a.controller(late);
  assert.ok(controller.welcome.epoch > 0, 'a login has a provisional epoch');
  assert.ok(isOnline(await a.api.connectivity(late)));
  await nats.start();
  await until(() => b.api.connectivity(late), isOnline);
  await until(
    () => b.api.connectivity(gone),
    (answer) => hasCode(0)(answer) && !isOnline(answer),
  );
  await until(() => wake(b.api, here), hasCode(0));
  const log = await logOf(b, has('device.signal.offline', gone), has('device.wakeup.accepted', here, 2));
  checkSeqs(log);
  assert.equal(named(log, 'device.signal.online', late).length, 1);
  assert.equal(named(log, 'device.signal.offline', gone).length, 1);
  assert.deepEqual(named(log, 'device.sleep.offline', here), []);
});

test('a node killed while NATS is away is shown as silent, with its age, until NATS is back and it is lost', async (t) => {
  const nats = await startNats(t);
  const site = await ClusterSite.start(t, { nats: [nats], nodes: ['a', 'b'] });
  const [a, b] = [site.node(0), site.node(1)];
  const status = () => runCli(['cluster', 'status', '--data-dir', a.directory]);
  const shows = async (pattern: RegExp): Promise<CliResult> => {
    const startedMs = performance.now();
    for (;;) {
      const shown = await status();
      if (pattern.test(shown.stdout)) return shown;
      assert.ok(performance.now() - startedMs < hangMsMax, `never ${String(pattern)}: ${shown.stdout}`);
    }
  };
  assert.equal((await shows(/^b .* up /m)).exitCode, 0);
  await nats.kill();
  await b.kill();
  const { stdout, exitCode } = await shows(/^b .* silent /m);
  assert.equal(exitCode, 1);
  assert.match(stdout, /^a .* up .* 0\.0 s$/m);
  assert.match(stdout, /the state of other members is \d+\.\d s old: NATS does not answer/);
  const { age_ms: ageMs, stale, members } = await a.ops<ClusterJson>('/v1/cluster');
  assert.equal(stale, true);
  assert.ok(ageMs !== null && ageMs > memberKnowledgeMsMax, `${ageMs}`);
  const silent = members.find(({ node }) => node === 'b');
  assert.equal(silent?.state, 'silent');
  assert.ok((silent.lease_age_ms ?? 0) > memberKnowledgeMsMax);
  const metrics = await (await fetch(`http://127.0.0.1:${a.ports.ops}/metrics`)).text();
  assert.match(metrics, /^reveille_cluster_members\{state="silent"\} 1$/m);
  assert.match(metrics, /^reveille_cluster_members\{state="up"\} 1$/m);
  assert.match(metrics, /^reveille_cluster_knowledge_age_seconds (?:[7-9]|\d\d)/m);
  await nats.start();
  // Its age is counted by the clock of NATS, so a watch that begins again does not make it young.
  for (let seen = stdout; /^b /m.test(seen); seen = (await status()).stdout)
    assert.match(seen, /^b +(?:silent|lost) /m);
  assert.equal((await shows(/^a /m)).exitCode, 0);
});

test('a node that starts without NATS says that it knows nothing of others', async (t) => {
  const nats = await startNats(t);
  await nats.kill();
  const site = await ClusterSite.start(t, { nats: [nats], nodes: ['a'] });
  const { stdout, exitCode } = await runCli(['cluster', 'status', '--data-dir', site.node(0).directory]);
  assert.equal(exitCode, 1);
  assert.match(stdout, /the state of other members is unknown: NATS does not answer/);
});

test('one NATS server of three dies: all is served again within 5 s', async (t) => {
  const servers = await startNatsCluster(t);
  const site = await ClusterSite.start(t, { nats: servers, nodes: ['a', 'b'] });
  const [a, b] = [site.node(0), site.node(1)];
  const deviceId = siteDevice(1);
  const module = await a.module(deviceId);
  await until(() => wake(b.api, deviceId), hasCode(0));
  assert.equal((await module.nextPacket()).length, 8);
  const leader = await leaderOf(t, servers);
  await leader.kill();
  const tookMs = await until(() => wake(b.api, deviceId), hasCode(0));
  assert.equal((await module.nextPacket()).length, 8);
  await until(() => a.api.connectivity(siteDevice(2)), hasCode(0));
  const next = await b.controller(siteDevice(3));
  assert.ok(next.welcome.epoch > 0);
  // Rows are written by their leader only: 4 to 9 s until there is another, and then the next try.
  await until(() => a.api.connectivity(siteDevice(3)), isOnline);
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
  await until(() => b.api.connectivity(leaves), isOnline);
  a.relay?.silence();
  await until(
    () => b.api.connectivity(leaves),
    (answer) => !isOnline(answer),
  );
  const packet = module.nextPacket();
  assert.equal((await wake(a.api, stays)).json.code, 0);
  assert.equal((await packet).length, 8);
  await leaving.close();
  const second = await b.controller(moves);
  a.relay?.mend();
  assert.equal((await moved.closed).code, 4409, 'the session that was taken over closes as replaced');
  await until(() => wake(b.api, stays), hasCode(0));
  second.heartbeat();
  const log = await logOf(b, has('device.wakeup.accepted', stays, 2), has('device.signal.offline', leaves));
  checkSeqs(log);
  assert.equal(new Set(log.map(({ id }) => id)).size, log.length, 'an event is published twice');
  assert.deepEqual(
    named(log, 'device.sleep.login', stays).map(({ data }) => data.recovered ?? false),
    [false, true],
  );
  assert.equal(named(log, 'device.signal.online', moves).length, 2);
  assert.equal(named(log, 'device.signal.offline', leaves).length, 1);
});

test('the owner and NATS are stopped: a query is 50401 after 2 s, and no wakeup is said to be done', async (t) => {
  const nats = await startNats(t);
  const site = await ClusterSite.start(t, { nats: [nats], nodes: ['a', 'b'] });
  const [a, b] = [site.node(0), site.node(1)];
  const deviceId = siteDevice(1);
  const controller = await a.controller(deviceId);
  await until(() => b.api.connectivity(deviceId), isOnline);
  a.pause();
  nats.pause();
  const startedMs = performance.now();
  const [query, woken] = await Promise.all([b.api.connectivity(deviceId), wake(b.api, deviceId)]);
  const tookMs = performance.now() - startedMs;
  assert.equal(query.json.code, 50401, query.text);
  assert.ok(tookMs >= 1900, `after ${tookMs} ms`);
  assert.ok(hasCode(50301, 50402)(woken), woken.text);
  a.resume();
  nats.resume();
  await controller.close();
});

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
