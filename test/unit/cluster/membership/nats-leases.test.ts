import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NatsLeases } from '../../../../src/cluster/membership/nats-leases.ts';
import { leaseLostMs } from '../../../../src/model/limits.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { memberId, statusOf } from '../../../support/nats-scene.ts';

const member = memberId('one');
const status = statusOf(member, new DrivenClock());
const written = (revision: number) => ({ revision, writtenAtMs: 0 });

test('a lease lives until it has not changed for as long as one may', () => {
  const leases = new NatsLeases();
  leases.saw(status, written(1), 1000);
  assert.equal(leases.isAlive(member, 999 + leaseLostMs), true);
  assert.equal(leases.isAlive(member, 1000 + leaseLostMs), false);
  assert.deepEqual(leases.overdue(1000 + leaseLostMs), [{ status, ...written(1), seenAtMs: 1000 }]);
});

test('the same lease seen once more is no sign of life, a newer one is', () => {
  const leases = new NatsLeases();
  leases.saw(status, written(2), 0);
  leases.saw(status, written(2), 5000);
  leases.saw(status, written(1), 6000);
  assert.equal(leases.get(member)?.seenAtMs, 0);
  leases.saw(status, written(3), 7000);
  assert.equal(leases.get(member)?.seenAtMs, 7000);
});

test('who could not see counts anew for everybody', () => {
  const leases = new NatsLeases();
  leases.saw(status, written(1), 0);
  leases.countAnew(leaseLostMs);
  assert.deepEqual(leases.overdue(2 * leaseLostMs - 1), []);
  assert.equal(leases.overdue(2 * leaseLostMs).length, 1);
});

test('one that is called lost is not alive, and is overdue when nobody works at it', () => {
  const leases = new NatsLeases();
  leases.saw({ ...status, state: 'lost' }, written(1), 0);
  assert.equal(leases.isAlive(member, 0), false);
  assert.deepEqual(leases.overdue(leaseLostMs - 1), []);
  assert.equal(leases.overdue(leaseLostMs).length, 1);
});

test('more members than there is room for are passed over, those that are known are not', () => {
  const leases = new NatsLeases();
  for (let made = 0; made < 1024; made++)
    leases.saw({ ...status, member: memberId(`node-${made}`) }, written(1), 0);
  leases.saw(status, written(1), 0);
  assert.equal(leases.get(member), undefined);
  leases.gone(memberId('node-0'));
  for (const revision of [1, 2]) leases.saw(status, written(revision), 0);
  assert.equal(leases.get(member)?.revision, 2);
  assert.equal(leases.all().length, 1024);
});
