import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Lease } from '../../../../src/cluster/nats/lease.ts';
import { MemoryBucket } from '../../../support/memory-kv-store.ts';

const value = Buffer.from('held');

test('a lease is held until somebody else writes its key, and is not taken back then', async () => {
  const bucket = new MemoryBucket();
  const lease = new Lease(bucket.open(), 'key', null);
  assert.deepEqual([await lease.renew(value), await lease.renew(value)], [true, true]);
  bucket.write('key', Buffer.from('taken'));
  assert.deepEqual([await lease.renew(value), await lease.renew(value)], [false, false]);
  assert.equal(await lease.release(), false);
});

test('of two that find the same lease one takes it, and who lets go removes it', async () => {
  const bucket = new MemoryBucket();
  const revision = bucket.write('key', Buffer.from('lost'));
  const [one, other] = [0, 1].map(() => new Lease(bucket.open(), 'key', revision));
  assert.deepEqual(await Promise.all([one?.renew(value), other?.renew(value)]), [true, false]);
  assert.equal(await one?.release(), true);
  assert.equal(bucket.entries.get('key')?.isRemoved, true);
});

test('renewals that are asked for at once come one after another', async () => {
  const kv = new MemoryBucket().open();
  const lease = new Lease(kv, 'key', null);
  kv.hold();
  const renewals = [lease.renew(value), lease.renew(value), lease.renew(value)];
  kv.release();
  assert.deepEqual(await Promise.all(renewals), [true, true, true]);
});

test('a renewal whose answer is lost ends the lease with the next one', async () => {
  const kv = new MemoryBucket().open();
  const lease = new Lease(kv, 'key', null);
  kv.lostAnswers = 1;
  await assert.rejects(lease.renew(value), { name: 'SharedStateUnavailable' });
  assert.equal(await lease.renew(value), false);
});
