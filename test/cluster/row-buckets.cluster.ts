/** The bucket of devices' rows in a real NATS. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SystemClock } from '../../src/lib/system-clock.ts';
import { NatsKvStore } from '../../src/cluster/nats/nats-kv-store.ts';
import type { NatsLink } from '../../src/cluster/nats/nats-link.ts';
import { linkTo } from '../support/nats-scene.ts';
import { startNats } from '../support/nats-server.ts';

/** More than are asked for ahead. */
const count = 4000;

async function deleteConsumers(link: NatsLink): Promise<void> {
  const stream = link.names.bucketStream('rows');
  const { consumers } = await link.jetstream().jetstreamManager(false);
  for await (const { name } of consumers.list(stream)) await consumers.delete(stream, name);
}

test('a reading of all rows that breaks off goes on where it was: each row once, in the order of their revisions', async (t) => {
  const link = await linkTo(t, (await startNats(t)).url);
  await link.ready();
  const rows = new NatsKvStore(link, 'rows', new SystemClock());
  const names = Array.from({ length: count }, (_, index) => `row${index}`);
  await Promise.all(names.map((name) => rows.put(name, Buffer.from(name))));
  const revisions: number[] = [];
  const seen = new Set<string>();
  for await (const { value, revision } of rows.since(0)) {
    if (revisions.length === 10) await deleteConsumers(link);
    revisions.push(revision);
    seen.add(Buffer.from(value).toString());
  }
  assert.deepEqual(seen, new Set(names));
  assert.deepEqual(
    revisions,
    Array.from({ length: count }, (_, index) => index + 1),
  );
});
