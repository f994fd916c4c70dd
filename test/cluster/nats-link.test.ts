import assert from 'node:assert/strict';
import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { jetstreamManager } from '@nats-io/jetstream';
import { SystemClock } from '../../src/lib/system-clock.ts';
import { NatsKvStore } from '../../src/cluster/nats/nats-kv-store.ts';
import type { NatsLink } from '../../src/cluster/nats/nats-link.ts';
import { probeNats } from '../../src/cluster/nats/nats-probe.ts';
import { bucketNames } from '../../src/cluster/nats/nats-names.ts';
import { startNats, startNatsCluster } from '../support/nats-server.ts';
import { NatsRelay } from '../support/nats-relay.ts';
import { linkIs, linkTo, WatchedLog } from '../support/nats-scene.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { findFreePort } from '../support/free-port.ts';

test('nodes that start at the same moment find the same streams and buckets', async (t) => {
  const { url } = await startNats(t);
  const log = new WatchedLog();
  const links = await Promise.all([1, 2, 3].map(() => linkTo(t, url, { log })));
  await Promise.all(links.map((link) => link.ready()));
  assert.deepEqual(
    log.lines.filter(({ level }) => level !== 'info'),
    [],
  );
  const [first, second] = links;
  assert.ok(first !== undefined && second !== undefined);
  const manager = await jetstreamManager(first.connection);
  const streams: string[] = [];
  for await (const name of manager.streams.names()) streams.push(name);
  assert.deepEqual(streams.sort(), ['test_events', ...bucketNames.map((name) => `KV_test_${name}`)].sort());
  await rowsAt(first).put('key', Buffer.from('value'));
  assert.equal(await textOf(rowsAt(second), 'key'), 'value');
});

test('a look at NATS sees that it has JetStream', async (t) => {
  const { url } = await startNats(t);
  const server = await probeNats({ url, credentialsPath: null, caPath: null, nodeName: 'probe' });
  assert.ok(url.endsWith(server), `${server} of ${url}`);
});

test('NATS is reached with a token in its URL, and the token is shown nowhere', async (t) => {
  const { url } = await startNats(t, { extra: 'authorization { token: "a token" }' });
  const look = (token: string): Promise<string> =>
    probeNats({
      url: url.replace('//', `//${token}@`),
      credentialsPath: null,
      caPath: null,
      nodeName: 'probe',
    });
  assert.ok(url.endsWith(await look('a%20token')));
  await assert.rejects(look('hush'), (error: Error) => {
    assert.match(error.message, /no connection to nats:\/\/127.*Authorization/i);
    assert.doesNotMatch(error.message, /hush/);
    return true;
  });
});

test('a NATS that was killed is away at once, and found again with what it had', async (t) => {
  const server = await startNats(t);
  const link = await linkTo(t, server.url);
  await link.ready();
  const rows = rowsAt(link);
  await rows.put('key', Buffer.from('value'));
  const isUnavailable = linkIs(link, 'away');
  await server.kill();
  await isUnavailable;
  const isThere = linkIs(link, 'there');
  await server.start();
  await isThere;
  assert.equal(await textOf(rows, 'key'), 'value');
});

test('a NATS that went silent is away, and found again when it speaks', async (t) => {
  const server = await startNats(t);
  const link = await linkTo(t, server.url);
  await link.ready();
  const isUnavailable = linkIs(link, 'away');
  server.pause();
  await isUnavailable;
  const isThere = linkIs(link, 'there');
  server.resume();
  await isThere;
});

test('a way that went silent is let go although bytes still wait to be taken', async (t) => {
  const server = await startNats(t);
  const relay = await NatsRelay.open(t, server.port);
  const link = await linkTo(t, relay.url);
  await link.ready();
  relay.silence();
  const isUnavailable = linkIs(link, 'away');
  const piece = new Uint8Array(512 * 1024);
  for (let sent = 0; sent < 64; sent++) link.connection.publish(link.names.everybody, piece);
  await isUnavailable;
  relay.mend();
  await linkIs(link, 'there');
});

test('streams with other settings are left as they are, and logged', async (t) => {
  const { url } = await startNats(t);
  await (await linkTo(t, url)).ready();
  const log = new WatchedLog();
  const link = await linkTo(t, url, { log, eventsRetainedMax: 5000 });
  await link.ready();
  const line = await log.logged(/other settings/);
  assert.match(line.message, /max_msgs is 100000, wanted 5000/);
  const manager = await jetstreamManager(link.connection);
  assert.equal((await manager.streams.info('test_events')).config.max_msgs, 100_000);
  assert.equal(log.lines.filter(({ message }) => /other settings/.test(message)).length, 1);
});

test('the NATS that is back without a memory gets its streams again', async (t) => {
  const server = await startNats(t);
  const link = await linkTo(t, server.url);
  await link.ready();
  const manager = await jetstreamManager(link.connection);
  await manager.streams.delete('KV_test_rows');
  await server.restart();
  await linkIs(link, 'there');
  while (!(await works(manager.streams.info('KV_test_rows'))));
});

test('a password that NATS refuses is logged once and stands in no line', async (t) => {
  const server = await startNats(t, { extra: 'authorization { user: node, password: right }' });
  const log = new WatchedLog();
  const wrong = server.url.replace('//', '//node:hush@');
  const link = await linkTo(t, wrong, { log });
  assert.equal(link.isUnavailable, true);
  await log.logged(/cannot be reached, and is tried again/);
  assert.doesNotMatch(JSON.stringify(log.lines), /hush/);
  const right = await linkTo(t, server.url.replace('//', '//node:right@'), { log });
  await right.ready();
  assert.doesNotMatch(JSON.stringify(log.lines), /right/);
});

test('of several servers the one that is there is found', async (t) => {
  const server = await startNats(t);
  const nobody = `nats://127.0.0.1:${await findFreePort('127.0.0.1')}`;
  const link = await linkTo(t, `${nobody}, ${server.url}`);
  assert.equal(link.isUnavailable, false);
});

test('without one of three servers what three keep is read at once, and written when there is a leader', async (t) => {
  const servers = await startNatsCluster(t);
  const link = await linkTo(t, servers.map(({ url }) => url).join(','), { replicas: 3 });
  await link.ready();
  const rows = rowsAt(link);
  await rows.put('key', Buffer.from('before'));
  const used = servers.find(({ port }) => link.connection.getServer().endsWith(`:${port}`));
  assert.ok(used !== undefined);
  const isUnavailable = linkIs(link, 'away');
  await used.kill();
  await isUnavailable;
  await linkIs(link, 'there');
  const { direct } = await link.jetstream().jetstreamManager(false);
  const found = await direct.getMessage('KV_test_rows', { last_by_subj: '$KV.test_rows.key' });
  assert.equal(found?.string(), 'before');
  while (!(await works(rows.put('key', Buffer.from('after')))));
  assert.equal(await textOf(rows, 'key'), 'after');
});

test('files that cannot be used are refused with a sentence', async (t) => {
  const directory = temporaryDirectory(t);
  const path = join(directory, 'node.creds');
  writeFileSync(path, 'nothing');
  const url = 'nats://127.0.0.1:4222';
  await assert.rejects(
    linkTo(t, url, { credentialsPath: join(directory, 'none') }),
    /nats_credentials: .* cannot be read/,
  );
  await assert.rejects(linkTo(t, url, { credentialsPath: path }), /is not a credentials file of NATS/);
  await assert.rejects(linkTo(t, url, { caPath: join(directory, 'none') }), /nats_ca: .* cannot be read/);
});

function rowsAt(link: NatsLink): NatsKvStore {
  return new NatsKvStore(link, 'rows', new SystemClock());
}

async function textOf(kv: NatsKvStore, key: string): Promise<string> {
  return Buffer.from((await kv.find(key))?.value ?? '').toString();
}

function works(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}
