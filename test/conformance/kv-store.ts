/** Conformance of a bucket that members share, used by two members. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { test } from 'node:test';
import type { KvChange, KvEntry, KvStore } from '../../src/cluster/nats/kv-store.ts';
import type { Ending } from '../support/temporary-store.ts';

export interface SharedBucket {
  readonly one: KvStore;
  readonly other: KvStore;
}

function bytes(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text));
}

function wordsOf({ key, value }: KvEntry): string {
  return `${key} ${Buffer.from(value).toString()}`.trim();
}

async function listed(entries: AsyncIterable<KvEntry>): Promise<string[]> {
  const words: string[] = [];
  for await (const entry of entries) words.push(wordsOf(entry));
  return words;
}

export function kvStoreConformance(name: string, make: (t: Ending) => Promise<SharedBucket>): void {
  test(`${name}: a member finds the value that another one put, with its revision`, async (t) => {
    const { one, other } = await make(t);
    assert.equal(await other.find('key'), null);
    await one.put('key', bytes('old'));
    const revision = await one.put('key', bytes('new'));
    assert.deepEqual(await other.find('key'), { key: 'key', value: bytes('new'), revision });
    assert.equal(await other.position(), revision);
  });

  test(`${name}: the first of two writers at one revision wins`, async (t) => {
    const { one, other } = await make(t);
    const first = await one.compareAndSet('key', bytes('1'), null);
    assert.ok(first !== null);
    assert.equal(await other.compareAndSet('key', bytes('other'), null), null);
    const second = await other.compareAndSet('key', bytes('2'), first);
    assert.ok(second !== null && second > first);
    assert.equal(await one.compareAndSet('key', bytes('one'), first), null);
    assert.deepEqual(await listed(one.all()), ['key 2']);
  });

  test(`${name}: a removed key is empty, and can be written at its revision`, async (t) => {
    const { one, other } = await make(t);
    const before = await one.put('key', bytes('value'));
    const revision = await one.put('key', bytes('newer'));
    assert.equal(await other.remove('key', before), false);
    assert.equal(await other.remove('key', revision), true);
    const removed = await one.find('key');
    assert.deepEqual(removed, { key: 'key', value: new Uint8Array(), revision: revision + 1 });
    assert.equal(await one.compareAndSet('key', bytes('again'), null), null);
    assert.equal(await one.compareAndSet('key', bytes('again'), removed.revision), revision + 2);
    assert.equal(await other.remove('key', null), true);
  });

  test(`${name}: entries after a position are read in order, the latest of each key`, async (t) => {
    const { one, other } = await make(t);
    for (const key of ['a', 'b', 'c']) await one.put(key, bytes('1'));
    const position = await one.position();
    assert.deepEqual(await listed(other.since(position)), []);
    for (const key of ['c', 'b', 'c']) await one.put(key, bytes('2'));
    assert.deepEqual(await listed(other.since(position)), ['b 2', 'c 2']);
    assert.deepEqual(await listed(other.all()), ['a 1', 'b 2', 'c 2']);
  });

  test(`${name}: an erased key leaves no trace, and other keys stay`, async (t) => {
    const { one, other } = await make(t);
    for (const key of ['a', 'a.1', 'a.2.3', 'ab.1']) await one.put(key, bytes('v'));
    await one.eraseAll('a');
    assert.deepEqual(await listed(other.all()), ['a v', 'ab.1 v']);
    await one.erase((await one.find('a'))?.revision ?? 0);
    assert.equal(await other.find('a'), null);
    assert.ok((await other.compareAndSet('a', bytes('v'), null)) !== null);
  });

  test(`${name}: a watch receives the latest of each key, then each change, until it stops`, async (t) => {
    const { one, other } = await make(t);
    for (const value of ['1', '2']) await one.put('a', bytes(value));
    const news = new EventEmitter();
    const seen: KvChange[] = [];
    const stop = await other.watch((change) => {
      seen.push(change);
      news.emit('change');
    });
    await one.put('b', bytes('3'));
    // A bucket keeps the latest entry of a key: one that is removed before it was sent is never seen.
    while (seen.length < 2) await once(news, 'change');
    await one.remove('b', null);
    while (seen.length < 3) await once(news, 'change');
    assert.deepEqual(seen.map(wordsOf), ['a 2', 'b 3', 'b']);
    assert.deepEqual(
      seen.map(({ isRemoved }) => isRemoved),
      [false, false, true],
    );
    stop();
    assert.equal(await one.put('a', bytes('4')), (seen.at(-1)?.revision ?? 0) + 1);
    assert.equal((await other.find('a'))?.revision, await other.position());
    assert.equal(seen.length, 3);
  });
}
