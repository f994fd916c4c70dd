/** What several nodes share in buckets of a real nats-server: rows and the registry; how it is read while others write, hang or break off. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { SystemClock } from '../../src/lib/system-clock.ts';
import { CallRepository } from '../../src/cluster/records/call-repository.ts';
import { JetStreamSource } from '../../src/cluster/events/jetstream-source.ts';
import { RegistryMirror } from '../../src/cluster/registry/registry-mirror.ts';
import { RegistryPublisher } from '../../src/cluster/registry/registry-publisher.ts';
import { NatsKvStore } from '../../src/cluster/nats/nats-kv-store.ts';
import type { NatsLink } from '../../src/cluster/nats/nats-link.ts';
import type { DeviceId } from '../../src/model/ids.ts';
import type { MirroredRegistry, RegistryChange, SharedPlace } from '../../src/core/ports/mirrored.ts';
import { NatsRelay } from '../support/nats-relay.ts';
import { startNats } from '../support/nats-server.ts';
import { linkIs, linkTo, WatchedLog } from '../support/nats-scene.ts';
import type { Ending } from '../support/temporary-store.ts';

const clock = new SystemClock();

/** The registry of a node, in memory. */
class MemoryRegistry implements MirroredRegistry {
  readonly rows = new Map<string, string>();
  readonly #waiting = new Map<number, RegistryChange>();
  readonly #news = new EventEmitter();
  position = 0;
  #place = 0;

  async apply(changes: readonly RegistryChange[], position: number): Promise<void> {
    for (const change of changes) this.#put(change);
    this.position = position;
    this.#news.emit('applied');
  }

  unshared(limit: number): { place: number; change: RegistryChange }[] {
    return Array.from(this.#waiting, ([place, change]) => ({ place, change })).slice(0, limit);
  }

  async shared(places: readonly SharedPlace[]): Promise<void> {
    for (const { place } of places) this.#waiting.delete(place);
    this.#news.emit('applied');
  }

  follow(follower: () => void): () => void {
    this.#news.on('changed', follower);
    return () => void this.#news.off('changed', follower);
  }

  /** An operator's change at this node. */
  change(id: string, row: string | null): void {
    const change = { kind: 'device', id, row: row === null ? null : Buffer.from(row) };
    this.#put(change);
    this.#waiting.set((this.#place += 1), change);
    this.#news.emit('changed');
  }

  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await once(this.#news, 'applied');
  }

  get isShared(): boolean {
    return this.#waiting.size === 0;
  }

  #put({ id, row }: RegistryChange): void {
    if (row === null) this.rows.delete(id);
    else this.rows.set(id, Buffer.from(row).toString());
  }
}

async function startNode(t: Ending, url: string): Promise<MemoryRegistry> {
  const log = new WatchedLog();
  const link = await linkTo(t, url);
  const registry = new MemoryRegistry();
  const kv = new NatsKvStore(link, 'registry', clock);
  const put = (key: string, value: Uint8Array): Promise<number> => kv.put(key, value);
  const publisher = new RegistryPublisher({ registry, clock, log, put });
  const source = new JetStreamSource(link, link.names.bucketStream('registry'));
  const mirror = new RegistryMirror({ source, registry, clock, log });
  t.after(() => publisher.stop());
  t.after(() => mirror.stop());
  await link.ready();
  mirror.start();
  assert.equal(await mirror.caughtUp(10_000), true);
  publisher.start();
  return registry;
}

test('changes of two nodes come to the same registry at both, also those of the same entries', async (t) => {
  const { url } = await startNats(t);
  const [one, other] = await Promise.all([startNode(t, url), startNode(t, url)]);
  for (let i = 0; i < 500; i++) {
    one.change(`device-${i}`, 'one');
    other.change(`device-${i + 250}`, 'other');
  }
  for (let i = 0; i < 100; i++) one.change(`device-${i}`, null);
  await Promise.all([one.until(() => one.isShared), other.until(() => other.isShared)]);
  const last = await startNode(t, url);
  for (const node of [one, other]) await node.until(() => node.position === last.position);
  assert.equal(last.rows.size, 650);
  const entries = ({ rows }: MemoryRegistry): Record<string, string> => Object.fromEntries(rows);
  assert.deepEqual(entries(one), entries(last));
  assert.deepEqual(entries(other), entries(last));
});

test('a bucket is read to its end, each key of it, while others replace what is in it', async (t) => {
  const { url } = await startNats(t);
  const [readers, writers] = await Promise.all([linkTo(t, url), linkTo(t, url)]);
  await Promise.all([readers.ready(), writers.ready()]);
  const [read, written] = [
    new NatsKvStore(readers, 'hooks', clock),
    new NatsKvStore(writers, 'hooks', clock),
  ];
  const keys = ['still', 'moved-1', 'moved-2'];
  await Promise.all(keys.map((key) => written.put(key, Buffer.from('0'))));
  const over = new AbortController();
  const writing = (async () => {
    for (let turn = 1; !over.signal.aborted; turn++) {
      await Promise.all(keys.slice(1).map((key) => written.put(key, Buffer.from(`${turn}`))));
      if (turn % 4 === 0) await setImmediate();
    }
  })();
  for (let turn = 0; turn < 40; turn++) {
    const found = new Set<string>();
    for await (const { key } of read.all()) found.add(key);
    assert.deepEqual([...found].toSorted(), keys.toSorted());
  }
  over.abort();
  await writing;
});

test('a question to a NATS that hangs is given up in the time it has, and one to a NATS that is away at once', async (t) => {
  const { port } = await startNats(t);
  const relay = await NatsRelay.open(t, port);
  const link = await linkTo(t, relay.url);
  await link.ready();
  const repository = new CallRepository({
    kv: new NatsKvStore(link, 'calls', clock),
    clock,
    log: new WatchedLog(),
  });
  relay.silence();
  await assert.rejects(repository.find('device' as DeviceId), { name: 'SharedStateUnavailable' });
  relay.break();
  await linkIs(link, 'away');
  await assert.rejects(repository.find('device' as DeviceId), { name: 'SharedStateUnavailable' });
});

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
  const rows = new NatsKvStore(link, 'rows', clock);
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
