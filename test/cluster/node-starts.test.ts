/**
 * A node that starts without what it needs of NATS, and nodes that are restarted one after another under load. The nodes
 * are the same in all tests, one after the other.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { runCli } from '../support/cli-process.ts';
import { ClusterSite, type SiteNode } from '../support/cluster-site.ts';
import type { PublishedEvent } from '../support/event-log-check.ts';
import { EventReader, readEvents } from '../support/event-reader.ts';
import { startNats } from '../support/nats-server.ts';
import { serveArguments } from '../support/server-process.ts';
import { hasCode, siteDevice, until } from '../support/site-server.ts';
import { hangMsMax } from '../support/hang-limit.ts';
import { lastFirst, temporaryDirectory } from '../support/temporary-store.ts';

const ending = lastFirst({ after });
const nats = await startNats(ending);
const site = await ClusterSite.start(ending, { nats: [nats], nodes: ['a', 'b', 'c'] });
const [a, b] = [site.node(0), site.node(1)];

async function untilReady(node: SiteNode): Promise<void> {
  for (const endMs = performance.now() + hangMsMax; ; await wait(50)) {
    const { status, text } = await node.readiness();
    if (status === 200) return;
    assert.ok(performance.now() < endMs, text);
  }
}

test('a node starts without NATS, serves its own devices, says so, and joins when NATS comes', async () => {
  assert.equal(await a.stop(), 0);
  await nats.kill();
  await a.start();
  const { status, text } = await a.readiness();
  assert.equal(status, 503);
  assert.match(text, /cluster: NATS is away/);
  const module = await a.module(siteDevice(1));
  await until(() => a.api.wake({ device_id: siteDevice(1) }), hasCode(0));
  assert.equal((await module.nextPacket()).length, 8);
  assert.equal((await a.api.connectivity(siteDevice(2))).json.code, 50301);
  await nats.start();
  await untilReady(a);
  await until(() => b.api.wake({ device_id: siteDevice(1), custom_data: '0x0001' }), hasCode(0));
  assert.equal((await module.nextPacket()).toString('hex'), '983b16f8f39c0001');
});

test('what an operator has got wrong is said in a sentence', async (t) => {
  const directory = temporaryDirectory(t);
  const start = (...settings: string[]) =>
    runCli(serveArguments([`data.dir=${directory}/${settings.length}`, ...settings]));
  const badUrl = await start('cluster.nats_url=http://nats.example:4222', 'cluster.node_name=a');
  assert.notEqual(badUrl.exitCode, 0);
  t.diagnostic(badUrl.stderr);
  const noFile = await start(
    'cluster.nats_url=nats://127.0.0.1:4',
    'cluster.node_name=a',
    `cluster.nats_credentials=${directory}/none.creds`,
  );
  assert.notEqual(noFile.exitCode, 0);
  t.diagnostic(noFile.stderr);
  for (const { stderr } of [badUrl, noFile]) {
    assert.match(stderr, /cluster\.nats_/);
    assert.doesNotMatch(stderr, /^\s+at /m);
  }
});

test('the second of two nodes of one name is not ready and says why, and the first goes on', async () => {
  const twin = await site.add('twin', ['cluster.node_name=a']);
  const { status, text } = await twin.readiness();
  assert.equal(status, 503);
  assert.match(text, /cluster: a@\w+ has the same node name/);
  assert.equal((await a.readiness()).status, 200);
  assert.equal(await twin.stop(), 0);
});

test('three nodes that are restarted one after another lose no wakeup that was accepted, and publish nothing twice', async (t) => {
  const nodes = site.nodes.slice(0, 3);
  const { next: cursor } = await readEvents(b.api, 'latest', 1);
  const devices = Array.from({ length: 6 }, (_, number) => siteDevice(10 + number));
  const packets = new Set<string>();
  const over = new AbortController();
  const sleep = async (deviceId: string, from: number): Promise<void> => {
    for (let place = from; !over.signal.aborted; place += 1) {
      const module = await site
        .node(place % 3)
        .module(deviceId)
        .catch(() => null);
      if (module === null) await wait(50);
      else if (over.signal.aborted) await module.close();
      else
        for (;;) {
          const packet = await module.nextPacket().catch(() => null);
          if (packet === null) break;
          packets.add(`${deviceId} ${packet.toString('hex').slice(-4)}`);
        }
    }
  };
  const modules = devices.map(sleep);
  const accepted: string[] = [];
  const codes = new Map<number, number>();
  const load = (async () => {
    for (let number = 0; !over.signal.aborted; number += 1) {
      const deviceId = devices[number % devices.length] ?? '';
      const data = number.toString(16).padStart(4, '0');
      const body = { device_id: deviceId, custom_data: `0x${data}` };
      const answer = await site
        .node(number % 3)
        .api.wake(body)
        .catch(() => null);
      const code = answer?.json.code ?? -1;
      codes.set(code, (codes.get(code) ?? 0) + 1);
      if (code === 0) accepted.push(`${deviceId} ${data}`);
      await wait(5);
    }
  })();
  for (const node of nodes) {
    assert.equal(await node.stop(), 0);
    await node.start();
    await untilReady(node);
  }
  over.abort();
  await load;
  const lost = (): string[] => accepted.filter((wakeup) => !packets.has(wakeup));
  for (const endMs = performance.now() + hangMsMax; lost().length > 0 && performance.now() < endMs;)
    await wait(20);
  t.diagnostic(`${accepted.length} accepted; ${JSON.stringify(Object.fromEntries(codes))}`);
  assert.deepEqual(lost(), []);
  assert.ok(accepted.length > 100);
  for (const code of codes.keys())
    assert.ok([0, 40412, 50301, 50204, -1].includes(code), `a wakeup was answered ${code}`);
  const events = await noteLogged(new EventReader(a.api, cursor), accepted.length);
  assert.equal(new Set(events.map(({ id }) => id)).size, events.length);
  const published = events.filter(({ type }) => type === 'device.wakeup.accepted');
  assert.equal(published.length, accepted.length);
  for (const node of nodes) await node.kill();
  await Promise.all(modules);
});

/** All that it reads, once that has so many accepted wakeups, or does not come to have them. */
async function noteLogged(reader: EventReader, count: number): Promise<PublishedEvent[]> {
  const events: PublishedEvent[] = [];
  for (const endMs = performance.now() + hangMsMax; performance.now() < endMs; await wait(50)) {
    events.push(...(await reader.rest()));
    if (events.filter(({ type }) => type === 'device.wakeup.accepted').length >= count) break;
  }
  return events;
}
