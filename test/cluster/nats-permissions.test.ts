import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { nkeys } from '@nats-io/nats-core';
import { NatsKvStore } from '../../src/cluster/nats/nats-kv-store.ts';
import type { KvChange } from '../../src/cluster/nats/kv-store.ts';
import { bucketNames, deviceHash } from '../../src/cluster/nats/nats-names.ts';
import type { NatsLink } from '../../src/cluster/nats/nats-link.ts';
import { succeed } from '../../src/lib/result.ts';
import { SystemClock } from '../../src/lib/system-clock.ts';
import type { DeviceId } from '../../src/model/ids.ts';
import { joinPeers, linkTo, memberId, WatchedLog } from '../support/nats-scene.ts';
import { startNats } from '../support/nats-server.ts';
import { questions } from '../support/peer-messages.ts';
import { ScriptedHost } from '../support/scripted-host.ts';
import { noOpenssl, TestCertificate } from '../support/test-certificate.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { setImmediate as turn } from 'node:timers/promises';
import { checkout } from '../support/checkout.ts';

const example = new URL('config/cluster-example/', checkout);
const accounts = readFileSync(new URL('nats-accounts.conf', example), 'utf8');
const password = 'of-the-example';

async function exampleLink(t: TestContext, url: string, log: WatchedLog): Promise<NatsLink> {
  const link = await linkTo(t, url.replace('//', `//node:${password}@`), { log, prefix: 'reveille' });
  await link.ready();
  return link;
}

function startExample(t: TestContext) {
  return startNats(t, { extra: accounts.replace('$NATS_PASSWORD', password) });
}

test('the example of a configuration is one', () => {
  const args = ['-t', '-c', new URL('nats-server.conf', example).pathname];
  execFileSync('nats-server', args, {
    stdio: 'ignore',
    env: { ...process.env, NATS_PASSWORD: password },
  });
});

test('with the permissions of the example a node can do all it needs', async (t) => {
  const { url } = await startExample(t);
  const log = new WatchedLog();
  const clock = new SystemClock();
  const [one, two] = await Promise.all(
    ['one', 'two'].map(async (name) => {
      const link = await exampleLink(t, url, log);
      return (await joinPeers(t, link, memberId(name), new ScriptedHost(), { clock, log })).peers;
    }),
  );
  assert.ok(one !== undefined && two !== undefined);
  while (!one.isAlive(two.self)) await turn();
  assert.deepEqual(await one.ask(two.self, questions.disconnect, 1000), succeed(true));
  const link = await exampleLink(t, url, log);
  const [value, more] = [Uint8Array.of(1), Uint8Array.of(2)];
  const { streams, direct } = await link.jetstream().jetstreamManager(false);
  for (const name of bucketNames.filter((name) => name !== 'members')) {
    const kv = new NatsKvStore(link, name, clock);
    const revision = await kv.compareAndSet('key.part', value, null);
    await kv.compareAndSet('key.part', more, revision);
    const seen = await new Promise<KvChange>((resolve) => void kv.watch(resolve));
    assert.deepEqual(await kv.find('key.part'), { key: seen.key, value: more, revision: seen.revision });
    const atAnyReplica = { last_by_subj: `$KV.${link.names.bucket(name)}.key.part` };
    const found = await direct.getMessage(link.names.bucketStream(name), atAnyReplica);
    assert.equal(found?.seq, seen.revision);
    for await (const entry of kv.all()) assert.equal(entry.key, 'key.part');
    await kv.remove('key.part', seen.revision);
    await kv.put('key.other', value);
    await kv.erase(await kv.position());
    await kv.eraseAll('key');
  }
  const { names } = link;
  const device = 'device' as DeviceId;
  await link.jetstream().publish(names.event(device), 'event', { expect: { lastSubjectSequence: 0 } });
  const query = { last_by_subj: `reveille.event.${deviceHash(device)}` };
  assert.equal((await streams.getMessage(names.eventStream, query))?.string(), 'event');
  assert.equal((await direct.getMessage(names.eventStream, query))?.string(), 'event');
  const consumer = await link.jetstream().consumers.get(names.eventStream, { opt_start_seq: 1 });
  assert.equal((await consumer.next({ expires: 1000 }))?.string(), 'event');
  await consumer.delete();
  await streams.purge(names.eventStream, { seq: 2 });
  assert.deepEqual(
    log.lines.filter(({ level }) => level === 'warn' || level === 'error'),
    [],
  );
});

test('with the permissions of the example a node does nothing outside its prefix, and says what it was refused', async (t) => {
  const { url } = await startExample(t);
  const log = new WatchedLog();
  const { connection } = await exampleLink(t, url, log);
  const subjects = ['>', 'other.member.*', '$KV.other_rows.>', '_INBOX.>', 'reveille2.>', '$JS.API.>'];
  for (const subject of subjects) {
    connection.subscribe(subject, { callback: () => undefined });
    await log.logged(
      new RegExp(`do not let this node subscribe to ${subject.replaceAll(/[.*$]/g, '\\$&')}$`),
    );
  }
  const places = [
    'other.everybody',
    '$KV.other_rows.key',
    '$JS.API.STREAM.DELETE.reveille_events',
    '$JS.API.STREAM.LIST',
  ];
  for (const subject of places) {
    connection.publish(subject, 'x');
    connection.publish(subject, 'x');
    await log.logged(new RegExp(`do not let this node publish to ${subject.replaceAll(/[.*$]/g, '\\$&')}$`));
  }
  await connection.flush();
  assert.equal(
    log.lines.filter(({ message }) => /do not let/.test(message)).length,
    subjects.length + places.length,
  );
});

test('a credentials file opens a NATS that knows its key', async (t) => {
  const user = nkeys.createUser();
  const path = join(temporaryDirectory(t), 'node.creds');
  const seed = Buffer.from(user.getSeed()).toString();
  writeFileSync(
    path,
    `-----BEGIN NATS USER JWT-----\nnone\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n${seed}\n------END USER NKEY SEED------\n`,
  );
  const { url } = await startNats(t, {
    extra: `authorization { users: [{ nkey: ${user.getPublicKey()} }] }`,
  });
  const link = await linkTo(t, url, { credentialsPath: path });
  await link.ready();
  assert.equal((await linkTo(t, url)).isUnavailable, true);
});

test(
  'over TLS a node meets the NATS that its authority vouches for, and no other',
  { skip: noOpenssl },
  async (t) => {
    const certificate = new TestCertificate(temporaryDirectory(t));
    certificate.use('localhost');
    const { certFile, keyFile } = certificate;
    const server = await startNats(t, {
      scheme: 'tls',
      extra: `tls { cert_file: "${certFile}", key_file: "${keyFile}" }`,
    });
    const url = `tls://127.0.0.1:${server.port}`;
    const link = await linkTo(t, url, { caPath: certFile });
    assert.equal(link.isUnavailable, false);
    const log = new WatchedLog();
    assert.equal((await linkTo(t, url, { log })).isUnavailable, true);
    assert.match(JSON.stringify((await log.logged(/cannot be reached, and/)).fields), /self-signed/);
  },
);
